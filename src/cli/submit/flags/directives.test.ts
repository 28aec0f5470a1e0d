import { describe, expect, test } from "vitest";
import { BEGIN_PATTERN, beginTime } from "./begin-flag.ts";
import { readDirectives } from "./directives.ts";

describe("directives of a script", () => {
  test.each([
    ["#BUSBAR --cpu 2 --name 'a b'", ["--cpu", "2", "--name", "a b"]],
    ["#BUSBAR --memory 4GiB # enough", ["--memory", "4GiB"]],
    [
      '#BUSBAR --name=\'a b\'"\'c\'" --comment="say \\"so\\""',
      ["--name=a b'c'", '--comment=say "so"'],
    ],
    ["#SBATCH --job-name=train", ["--name", "train"]],
    ['#SBATCH --job-name="a # b" -J"c d" # e', ["--name", "a # b", "--name", "c d"]],
    ["#SBATCH --nice", ["--priority", "-100"]],
    ["#SBATCH --nice=1000", ["--priority", "-1000"]],
    ["#SBATCH --nice=-5", ["--priority", "5"]],
    ["#SBATCH -J train -c 4", ["--name", "train", "--cpu", "4"]],
    ["#SBATCH --time=90", ["--time-limit", "5400000ms"]],
    ["#SBATCH -t 1:30", ["--time-limit", "90000ms"]],
    ["#SBATCH -t 1:30:00", ["--time-limit", "5400000ms"]],
    ["#SBATCH --time=2-12", ["--time-limit", "216000000ms"]],
    ["#SBATCH --time=UNLIMITED", []],
    ["#SBATCH --time=infinite", []],
    ["#SBATCH -t 0", []],
    ["#SBATCH --begin=now+1hour", ["--begin", "now+1hour"]],
    ["#SBATCH -b 16:00", ["--begin", "16:00"]],
    ["#SBATCH --mem=4000", ["--memory", "4000MiB"]],
    ["#SBATCH --mem=4G", ["--memory", "4GiB"]],
    ["#SBATCH --array=0-9%2", ["--array", "0-9%2"]],
    ["#SBATCH --gres=gpu:a100:2", ["--gpu", "2"]],
    ["#SBATCH --dependency=afterok:1:2,afterany:3", ["--after-ok", "1,2", "--after-any", "3"]],
    ["#SBATCH -d afternotok:1,after:2_7", ["--after-not-ok", "1", "--after", "2.7"]],
    ["#SBATCH --hold", ["--hold"]],
    ["#SBATCH -H -c2", ["--hold", "--cpu", "2"]],
    ["#SBATCH --ntasks=1 -N1", []],
    ["# a comment\n\n#SBATCH -c2\necho\n#SBATCH -c3", ["--cpu", "2"]],
  ])("%s", (text, words) => {
    expect(readDirectives(`#!/bin/sh\n${text}\n`)).toEqual({ words, ignored: [], job: {} });
  });

  test("unsupported options of sbatch are named", () => {
    const text = '#SBATCH --partition=long --exclusive -n 4\n#SBATCH -c 2 --constraint="intel&gpu"';
    expect(readDirectives(text)).toEqual({
      words: ["--cpu", "2"],
      ignored: ["--partition", "--exclusive", "-n", "--constraint"],
      job: {},
    });
  });

  test.each([
    ["#SBATCH --output=a.out -e b.err", { output: "a.out", error: "b.err" }],
    ["#SBATCH -o a.out\n#SBATCH --output b.out", { output: "b.out" }],
    ["#SBATCH -d singleton", { isSingleton: true }],
  ])("%s has a meaning for the whole job", (text, job) => {
    expect(readDirectives(text)).toEqual({ words: [], ignored: [], job });
  });

  test("singleton may stand beside other dependencies", () => {
    expect(readDirectives("#SBATCH --dependency=afterok:1,singleton")).toEqual({
      words: ["--after-ok", "1"],
      ignored: [],
      job: { isSingleton: true },
    });
  });

  test.each([
    ["#SBATCH --time=soon", /"soon" is not a time/],
    ["#SBATCH --mem=lots", /"lots" is not a size/],
    ["#SBATCH --nice=very", /"very" is not a number/],
    ["#SBATCH --array", /has no value/],
    ["#SBATCH --hold=yes", /--hold: takes no value/],
    ["#SBATCH --output=", /--output: has no value/],
    ["#SBATCH --dependency=afterok:1?afterok:2", /"afterok:1\?afterok:2" is not like afterok:17/],
    ["#SBATCH --dependency=after:1+5", /"after:1\+5" is not like/],
    ["#SBATCH --dependency=aftercorr:1", /"aftercorr:1" is not like/],
    ['#BUSBAR --name "a b', /a quote is not closed in "--name "a b"/],
    ["#BUSBAR --name it's", /a quote is not closed/],
  ])("%s is rejected", (text, problem) => {
    expect(() => readDirectives(text)).toThrow(problem);
  });
});

describe("--begin", () => {
  const NOW = new Date(2026, 10, 17, 12, 0).getTime();
  const read = beginTime("--begin", () => NOW);
  test.each([
    ["10m", NOW + 600_000],
    ["now+1h", NOW + 3_600_000],
    ["now", NOW],
    ["now+60", NOW + 60_000],
    ["now+1hour", NOW + 3_600_000],
    ["now+2weeks", NOW + 14 * 24 * 3_600_000],
    ["+90s", NOW + 90_000],
    ["16:30", new Date(2026, 10, 17, 16, 30).getTime()],
    ["09:00", new Date(2026, 10, 18, 9, 0).getTime()],
    ["2026-11-18", new Date(2026, 10, 18).getTime()],
    ["2026-11-18T10:00", new Date(2026, 10, 18, 10).getTime()],
    ["2026-11-18T10:00:00Z", Date.UTC(2026, 10, 18, 10)],
  ])("%s", (text, atMs) => {
    expect(read(text)).toBe(atMs);
    expect(text).toMatch(new RegExp(BEGIN_PATTERN)); // the schema of job files
  });

  test("a text that is no time is rejected", () => {
    expect(() => read("2026-02-30")).toThrow('"2026-02-30" is not a time');
    expect(() => read("2026-02-30T10:00")).toThrow("is not a time");
    expect(() => read("soon")).toThrow('--begin: "soon" is not a time; write it like 10m');
    expect(() => read("now+1fortnight")).toThrow("is not a time");
  });
});
