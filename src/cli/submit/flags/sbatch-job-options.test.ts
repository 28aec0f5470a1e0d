import { describe, expect, test } from "vitest";
import { jobOptionFlags, type OptionsJob } from "./sbatch-job-options.ts";

const JOB: OptionsJob = { name: "train", isTerminal: false, user: "ada" };
const ARRAY: OptionsJob = { ...JOB, array: "0-3" };

describe("#SBATCH --output and --error", () => {
  test.each<readonly [string, OptionsJob, string]>([
    ["out.txt", JOB, "out.txt"],
    ["/data/%x-%j.out", JOB, "/data/train-%j.out"],
    ["%x", { ...JOB, name: "50%j" }, "50%%j"],
    ["%A_%a.out", ARRAY, "%j_%i.out"],
    ["%j_%a.out", ARRAY, "%j_%i.out"],
    ["%j.out", ARRAY, "%j.%i.out"],
    ["%j.out", { ...JOB, eachLine: "files" }, "%j.%i.out"],
    ["%N.%n.%t.out", JOB, "%n.0.0.out"],
    ["%%j", JOB, "%%j"],
    ["/dev/null", ARRAY, "/dev/null"],
    ["/data/out", { ...JOB, cwd: "fresh" }, "/data/out"],
  ])("%s", (output, job, file) => {
    expect(jobOptionFlags({ output }, job)).toEqual({
      flags: { stdout: file, stderr: file },
      warnings: [],
    });
  });

  test.each<readonly [string, OptionsJob, string]>([
    ["%u.out", JOB, '"%u" is not supported'],
    ["%3a.out", ARRAY, '"%3a" is not supported'],
    ["100%", JOB, '"%" is not supported'],
    ["a\\b", JOB, "a backslash is not supported"],
    ["out.txt", ARRAY, "all tasks of the array would write it; add %a"],
    ["out.txt", { ...JOB, cwd: "fresh" }, "it would be deleted with the fresh directory"],
    ["out.txt", { ...JOB, image: "alpine" }, "an image has no files of the node"],
    ["out.txt", { ...JOB, isTerminal: true }, "a terminal shows all output"],
  ])(
    "%s cannot be written: a warning says why, and the agent retains the output",
    (output, job, why) => {
      expect(jobOptionFlags({ output }, job)).toEqual({
        flags: {},
        warnings: [
          `#SBATCH --output=${output} of the script is ignored: ${why}; busbar logs has the output`,
        ],
      });
    },
  );

  test("each stream has its own file where both are named, or stays with the agent", () => {
    expect(jobOptionFlags({ output: "a", error: "b" }, JOB).flags).toEqual({
      stdout: "a",
      stderr: "b",
    });
    expect(jobOptionFlags({ error: "b" }, JOB).flags).toEqual({ stderr: "b" });
    expect(jobOptionFlags({ output: "a", error: "%u" }, JOB).flags).toEqual({ stdout: "a" });
    expect(jobOptionFlags({ output: "%u", error: "b" }, JOB).flags).toEqual({ stderr: "b" });
  });
});

test("#SBATCH --dependency=singleton: one job of a name and user at a time", () => {
  const singletonOf = (job: OptionsJob) => jobOptionFlags({ isSingleton: true }, job).flags;
  expect(singletonOf(JOB)).toEqual({ singleton: "ada/train" });
  expect(singletonOf({ ...JOB, user: undefined })).toEqual({ singleton: "train" });
});
