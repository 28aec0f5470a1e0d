import { describe, expect, test } from "vitest";
import { runHere } from "./testing/context.ts";

describe("a wrong value names its flag and what would be right, and exits 2", () => {
  const cases: readonly [string, RegExp][] = [
    ["submit --cpu 0 x", /--cpu: "0" is not a number above 0/],
    ["submit --cpu -1 x", /--cpu/],
    ["submit --cpu 1e9 x", /--cpu: "1e9" is not a number/],
    ["submit --memory 4Gb x", /--memory: "4Gb" is not a size; write it like/],
    ["submit --gpu 1.5 x", /--gpu: "1.5" is not a whole number from 1/],
    ["submit --resource fpga x", /--resource: "fpga" is not of the form key=value/],
    ["submit --resource fpga=many x", /--resource: "many" is not a number above 0/],
    ["submit --label =v x", /--label: "=v" is not of the form key=value/],
    ["submit --env UNSET x", /--env: UNSET is not set here; write UNSET=value/],
    ["submit --env a-b=c x", /--env: "a-b" is not a variable's name/],
    ["submit --env BUSBAR_NODE=c x", /--env: BUSBAR_NODE: Busbar sets BUSBAR_ names itself/],
    ["agent --task-env BUSBAR_NODE=c", /--task-env: BUSBAR_NODE: Busbar sets/],
    ["submit --energy 400 x", /--energy: "400" has no unit; write it like 400Ws/],
    ["submit --energy 4xWs x", /--energy: "4xWs" is not an energy/],
    ["submit --energy 0.5Ws x", /--energy: "0.5Ws" is finer than a watt-second/],
    ["submit --energy 9MWh --split some x", /--split: "some" is none of earliest, fewest, spread/],
    ["submit --least-share 4Ws x", /--least-share: needs --energy/],
    ["submit --split spread x", /--split: needs --energy/],
    ["submit --array 1- x", /--array: "1-" is not an array; write it like 0-99/],
    ["submit --priority 9999999 x", /--priority: .* from -1000000 to 1000000/],
    ["submit --retries -1 x", /--retries: "-1" is not a whole number from 0/],
    ["submit --retry-backoff 1s x", /--retry-backoff: needs --retries/],
    ["submit --time-limit 90 x", /--time-limit: "90" has no unit; write it like 90s/],
    ["submit --queue-deadline 9999d x", /--queue-deadline: "9999d" is longer than 366 days/],
    ["submit --deadline 9999d x", /--deadline: "9999d" is longer than 366 days/], // its name before
    ["submit --output-limit lots x", /--output-limit: "lots" is not a size/],
    ["submit --name= x", /--name: is empty/],
    ["submit --after-ok a,,b x", /--after-ok: is empty/],
    ["submit --after-at-least 2 x", /--after-at-least: needs jobs to choose from/],
    ["submit --after-at-least 0 --after a x", /--after-at-least: "0" is not a whole number from 1/],
    ["submit --singleton= x", /--singleton: is empty/],
    ["submit", /command: is missing; write it after --/],
    ["submit --script a.sh x", /--script: cannot be combined with a command/],
    ["submit --file a.yaml x", /--file: cannot be combined with a command/],
    ["submit --file a.yaml --time-limit 1s", /--time-limit: cannot be combined with --file/],
    ["submit --file missing.yaml", /no file missing.yaml/],
    ["submit --jobspec missing.yaml", /no file missing.yaml/],
    ["submit --jobspec a.yaml x", /--jobspec: cannot be combined with a command/],
    ["submit --jobspec a.yaml --cpu 2", /--cpu: cannot be combined with --jobspec; write it into/],
    ["submit --jobspec a.yaml --array 0-9", /--array: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --env A=b", /--env: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --script b", /--script: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --time-limit 1s", /--time-limit: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --after-ok b", /--after-ok: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --file b", /--file: cannot be combined with --jobspec$/m],
    ["submit --jobspec - --select-options -", /only one thing can be read from standard input/],
    ["submit --file a.yaml --select first", /--select: cannot be combined with --file; write it/],
    [
      "submit --dry-run --wait x",
      /--wait: cannot be combined with --dry-run: nothing is submitted/,
    ],
    ["submit --dry-run --quiet x", /--quiet: cannot be combined with --dry-run/],
    ["submit --request [[{}]] --cpu 2 x", /--cpu: cannot be combined with --request; write it/],
    ["run --request [[{}]] --resource a=2 x", /--resource: cannot be combined with --request/],
    ["submit --request [[{}]] --require os:name x", /--require: cannot be combined with --request/],
    ["submit --request [[{}]] x", /--request\[0\]\[0\].type: must be a text/],
    ["submit --request [[{tpye:1}]] x", /--request\[0\]\[0\]: "tpye:1" is not known/],
    ["submit --request [[ x", /--request:1:3: /],
    ["submit --request missing.json x", /no file missing.json/],
    ["submit --require os x", /--require: "os" is not of the form subsystem:field=value/],
    ["run --select= x", /--select: is empty/],
    ["run --parameter x y", /--parameter: "x" is not of the form key=value/],
    ["run --select-options missing.yaml x", /no file missing.yaml/],
    ["server --select-options missing.yaml", /no file missing.yaml/],
    ["jobs --limit 0", /--limit: "0" is not a whole number from 1/],
    ["jobs --state runing", /--state: "runing" is none of .* \(did you mean running\?\)/],
    ["jobs --count --name x", /--name: cannot be combined with --count/],
    ["tasks 1 --state x", /--state: "x" is none of pending/],
    ["logs 1 --attempt x", /--attempt: "x" is not a whole number/],
    ["progress 101", /<percent>: "101" is not a number from 0 to 100/],
    ["progress 40step", /<percent>: "40step" is not a number from 0 to 100/],
    ["progress 40 --attempt 1", /--attempt: needs --task beside it/],
    ["progress 40", /BUSBAR_PROGRESS_FILE is not set; name one with --task/],
    ["agent --simulate-edges 0 --site s", /--simulate-edges: "0" is not a whole number from 1/],
    ["agent --simulate-edges 3", /--site: is missing: name the site of the edges/],
    ["agent --speedup 3", /--speedup: needs --simulate-edges beside it/],
    ["agent --simulate-edges 3 --site s --speedup 0", /--speedup: "0" is not a number above 0/],
    [
      "agent --simulate-edges 3 --site s --power-schedule x",
      /--power-schedule: "x" is no schedule/,
    ],
    ["generate --rate 5", /--rate: "5" is not a rate; write it like 5\/s or 30\/m/],
    ["generate --rate 0/s", /--rate: "0\/s" is not a rate/],
    ["generate --power 500-300", /--power: "500-300" is not a range of watt-seconds/],
    ["generate --backlog 0", /--backlog: "0" is not a whole number from 1/],
    ["job 1.x", /<id>: "1.x" is not an id like 17 or 17.3/],
    ["watch --after -1", /--after/],
    ["groups set g --weight 0", /--weight: "0" is not a number above 0/],
    ["groups set g --running-tasks-max x", /--running-tasks-max/],
    ["nodes --state gone", /--state: "gone" is none of connected/],
    ["up --http 7070", /--http: "7070" is not an address with a port; write it like/],
    ["up --policy rr", /--policy: "rr" is none of spread, binpack, round-robin, random/],
    [
      "up --policy-seed 7",
      /--policy-seed: nothing is drawn with --policy spread; add --policy random/,
    ],
    ["up --policy random --policy-seed -1", /--policy-seed: "-1" is not a whole number from 0/],
    ["up --policy random --policy-seed 4294967296", /--policy-seed: .* from 0 to 4294967295/],
    ["up --node-lost-after 10ms", /--node-lost-after: "10ms" is too short/],
    ["up --log-level loud", /--log-level: "loud" is none of/],
    ["agent --name a/b", /--name: "a\/b" is not a name/],
    ["jobs --server http://x:1", /--server: "http:\/\/x:1" is a URL/],
    ["jobs --output yaml", /--output: "yaml" is not a format; write json or table/],
    ["completion tcsh", /<shell>: "tcsh" is none of bash, zsh, fish/],
    ["cancel", /missing required argument 'id'/],
    ["jbos", /unknown command 'jbos' \(Did you mean .*jobs/],
    ["jobs --stat x", /unknown option '--stat' \(Did you mean --state\?\)/],
    ["nodes drian x", /unknown command "drian"; did you mean drain\?/],
    ["nodes drain", /missing required argument 'name'/],
    ["server --silence 90s", /--silence: a node would be lost after 1m, before.*silence of 1m30s/],
    ["server --keepalive 10ms", /--keepalive: "10ms" is too short; at least 1s/],
    ["nodes set a", /nodes set: nothing to set; say --on-lost, --lost-after, or both/],
    ["nodes set a --on-lost wait", /--on-lost: "wait" is none of requeue, keep, fail, agent/],
    ["nodes set a --lost-after 5ms", /--lost-after: "5ms" is too short/],
    ["groups banana", /unknown command "banana"; there are set, remove/],
    ["stats extra", /too many arguments for 'stats'/],
    ["cluster register --graph g", /--name: is missing/],
    ["cluster register blue", /required option '--graph <file>' not specified/],
    ["cluster register blue --name red --graph g", /--name: "red" and "blue" are two names/],
    ["cluster register blue --graph missing.json", /no file missing.json/],
    ["cluster regster", /unknown command 'regster'.*\(Did you mean register\?\)/],
    ["subsystem add --cluster a", /<file>: is missing/],
    ["subsystem add a --file b", /--file: cannot be combined with a file as argument/],
    ["subsystem show", /missing required argument 'name'/],
    ["state set --cluster a", /key=value: is missing; write it like nodes_free=20/],
    ["state set --cluster a x", /key=value: "x" is not of the form key=value/],
    ["state set --cluster a --count-down x", /--count-down: "x" is not of the form key=nodes/],
    ["state set --cluster a --count-down x=core", /--count-down: "core" is none of nodes, slots/],
    ["state unset --cluster a", /missing required argument 'keys'/],
    ["satisfy", /missing required argument 'file'/],
    ["satisfy missing.yaml", /no file missing.yaml/],
    ["satisfy a --parameter x", /--parameter: "x" is not of the form key=value/],
  ];
  for (const [line, want] of cases) {
    test(line, async () => {
      const words = line.split(" ");
      const text = await runHere(words);
      expect(text.stderr).toMatch(want);
      expect([text.code, text.stdout]).toEqual([2, ""]);
      expect(text.stderr.trimEnd()).not.toContain("\n");
      if (line.includes("--output")) return;
      const json = await runHere(["--output", "json", ...words]);
      expect([json.code, json.stderr]).toEqual([2, ""]);
      const { error } = JSON.parse(json.stdout) as { error: { code: string; message: string } };
      expect(error.code).toBe("invalid_argument");
      expect(error.message).toMatch(want);
    });
  }

  test("a wrong BUSBAR_SERVER is named like a flag", async () => {
    const { code, stderr } = await runHere(["jobs"], { env: { BUSBAR_SERVER: "x" } });
    expect([code, stderr.includes("BUSBAR_SERVER: ")]).toEqual([2, true]);
  });
});
