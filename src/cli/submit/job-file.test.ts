import { describe, expect, test } from "vitest";
import { parseJobFile } from "./job-file.ts";

const parse = (text: string) => parseJobFile(text, "jobs.yaml");

test("every key is read, with friendly units", () => {
  const text = `
name: train
group: nightly
labels: { owner: ada, year: 2026 }
command: [python3, train.py, --epochs, 3]
env: { MODE: 0644, DEBUG: yes, EMPTY: "" }
cwd: /data
resources: { cpu: 0.5, memory: 4GiB, disk: 1GiB, gpu: 1, fpga: 2 }
placement: { cluster: a, node: b, labels: { disk: ssd } }
array: 0-9
priority: -5
retries: { max: 3, backoff: 1s, backoffMax: 5m }
timeLimit: 1h30m
killGrace: 250ms
queueDeadline: 1d
outputLimit: 1M
dependsOn: [build, 17.30, { afterany: [a, b], singleton: n }, { after: [c, d], atLeast: 1 }]
idempotencyKey: abc
`;
  expect(parse(text)).toEqual([
    {
      spec: {
        name: "train",
        group: "nightly",
        labels: { owner: "ada", year: "2026" },
        command: ["python3", "train.py", "--epochs", "3"],
        env: { MODE: "0644", DEBUG: "yes", EMPTY: "" },
        cwd: "/data",
        resources: { cpu: 0.5, memory: 4 * 1_024 ** 3, disk: 1_024 ** 3, gpu: 1, fpga: 2 },
        placement: { cluster: "a", node: "b", labels: { disk: "ssd" } },
        array: "0-9",
        priority: -5,
        retries: { max: 3, backoffMs: 1_000n, backoffMaxMs: 300_000n },
        timeLimitMs: 5_400_000n,
        killGraceMs: 250n,
        queueDeadlineMs: 86_400_000n,
        outputLimitBytes: 1_048_576n,
        dependsOn: [
          { kind: "afterok", on: ["build", "17.30"] },
          { kind: "afterany", on: ["a", "b"] },
          { kind: "singleton", name: "n" },
          { kind: "after", on: ["c", "d"], atLeast: 1 },
        ],
      },
      idempotencyKey: "abc",
    },
  ]);
});

test("containers and mounts are lists of their own", () => {
  const text = `
containers:
  - { name: web, image: "nginx:1", command: [nginx, -g, x], env: { A: 1 } }
  - { name: log, image: "logger:1" }
mounts: [{ source: /a, target: /b, writable: true }]
network: none
`;
  expect(parse(text)[0]?.spec).toEqual({
    containers: [
      { name: "web", image: "nginx:1", command: ["nginx", "-g", "x"], env: { A: "1" } },
      { name: "log", image: "logger:1" },
    ],
    mounts: [{ source: "/a", target: "/b", writable: true }],
    network: "none",
  });
  expect(() => parse("{ image: a, mounts: [{ writable: 1 }] }")).toThrow("must be true or false");
});

test("a list, several documents, and JSON hold several jobs", () => {
  const names = (text: string) => parse(text).map((job) => job.spec?.name);
  expect(names("- {name: a, command: [x]}\n- {name: b, script: y}")).toEqual(["a", "b"]);
  expect(names("name: a\ncommand: [x]\n---\n- name: b\n  command: [y]\n---\n")).toEqual(["a", "b"]);
  expect(names('[{"name": "a", "command": ["x"]},\n\t{"name": "b", "script": "y"}]')).toEqual([
    "a",
    "b",
  ]);
});

test("one name is enough, in either spelling", () => {
  const on = (text: string) => parse(`command: [x]\n${text}`)[0]?.spec?.dependsOn;
  expect(on("dependsOn: build")).toEqual([{ kind: "afterok", on: ["build"] }]);
  expect(on("depends_on: [build]")).toEqual([{ kind: "afterok", on: ["build"] }]);
  expect(on("dependsOn: { afternotok: 17 }")).toEqual([{ kind: "afternotok", on: ["17"] }]);
});

test("an alias has the value that it names", () => {
  const text = "- command: [x]\n  env: &e { A: 1 }\n- command: [y]\n  env: *e";
  expect(parse(text).map((job) => job.spec?.env)).toEqual([{ A: "1" }, { A: "1" }]);
});

describe("errors name the file, the line, the column and the right form", () => {
  const cases: readonly [string, string, RegExp][] = [
    [
      "a misspelt key",
      "command: [x]\ntimelimit: 5m",
      /^jobs.yaml:2:1: unknown key "timelimit"; did you mean "timeLimit"\?/,
    ],
    [
      "a key of resources",
      "command: [x]\nmemory: 4GiB",
      /^jobs.yaml:2:1: unknown key "memory"; did you mean resources: {memory: ...}\?/,
    ],
    ["another tool's key", "cmd: [x]", /unknown key "cmd"; did you mean "command"\?/],
    [
      "an unlike key",
      "command: [x]\nbanana: 1",
      /^jobs.yaml:2:1: unknown key "banana"; there are name, group/,
    ],
    [
      "a key of a nested map",
      "command: [x]\nplacement: { nodes: a }",
      /^jobs.yaml:2:14: placement: unknown key "nodes"; did you mean "node"/,
    ],
    ["the wire's own key", "command: [x]\ntimeLimitMs: 5", /did you mean "timeLimit"/],
    [
      "a command as a line",
      "command: make -j4",
      /^jobs.yaml:1:10: command: must be a list of words like \["make", "-j4"\]/,
    ],
    [
      "an unknown kind of dependency",
      "command: [x]\ndependsOn: { afterOk: a }",
      /^jobs.yaml:2:14: dependsOn: unknown key "afterOk"; did you mean "afterok"/,
    ],
    [
      "a number that belongs to two lists",
      "command: [x]\ndependsOn: { afterok: [a, b], after: c, atLeast: 1 }",
      /dependsOn.atLeast: belongs to one list of jobs/,
    ],
    ["no list to choose from", "command: [x]\ndependsOn: { atLeast: 1 }", /needs one of afterok/],
    ["both spellings", "command: [x]\ndependsOn: a\ndepends_on: b", /write one of them/],
    ["an empty command", "command: []", /command: is empty/],
    [
      "a word that is a map",
      "command: [x, {a: b}]",
      /^jobs.yaml:1:14: command\[1\]: must be a text or a number/,
    ],
    ["nothing to run", "name: x", /^jobs.yaml:1:1: a job needs a command, a script or an image/],
    ["two things to run", "command: [x]\nscript: y", /either a command or a script/],
    ["labels as a list", "command: [x]\nlabels: [a]", /^jobs.yaml:2:9: labels: must be a map/],
    ["a value left out", "command: [x]\nname:", /^jobs.yaml:2:\d+: name: must be a text/],
    ["a duration without unit", "command: [x]\ntimeLimit: 300", /timeLimit: "300" has no unit/],
    ["a duration without end", "command: [x]\ntimeLimit: 99999d", /longer than 366 days/],
    [
      "a size without sense",
      "command: [x]\nresources: { memory: lots }",
      /resources.memory: "lots" is not a size/,
    ],
    [
      "a number beyond all",
      "command: [x]\nresources: { cpu: 1e999 }",
      /resources.cpu: "1e999" is not a number above 0/,
    ],
    ["infinity", "command: [x]\nresources: { cpu: .inf }", /is not a number above 0/],
    ["a negative amount", "command: [x]\nresources: { cpu: -1 }", /is not a number above 0/],
    ["an absurd priority", "command: [x]\npriority: 99999999999", /from -1000000 to 1000000/],
    ["too many retries", "command: [x]\nretries: 1000000", /from 0 to 1000/],
    ["retries without max", "command: [x]\nretries: { backoff: 1s }", /needs "max"/],
    ["a wrong array", "command: [x]\narray: a-b", /array: "a-b" is not an array/],
    ["a job that is a text", "- hello", /^jobs.yaml:1:3: \[0\]: must be a map/],
    [
      "a key given twice",
      "command: [x]\ncommand: [y]",
      /^jobs.yaml:2:1: the key "command" is there twice/,
    ],
    ["broken YAML", "command: [x", /^jobs.yaml:1:\d+: /],
    ["an alias of nothing", "command: *x", /^jobs.yaml:1:10: /],
    ["no job at all", "# nothing", /^jobs.yaml: has no job in it/],
    ["an empty list", "[]", /has no job/],
    ["a second document", "command: [x]\n---\ncomand: [y]", /^jobs.yaml:3:1: unknown key "comand"/],
  ];
  for (const [name, text, want] of cases) {
    test(name, () => expect(() => parse(text)).toThrow(want));
  }
});

describe("malicious files end quickly", () => {
  test("a bomb of aliases", () => {
    let text = "a0: &a0 { command: [x] }\n";
    for (let level = 1; level < 30; level += 1) {
      text += `a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(",")}]\n`;
    }
    expect(() => parse(text)).toThrow(/more than 2000000 values, with aliases/);
    const list = `- &a { command: [x] }\n${"- *a\n".repeat(1_001)}`;
    expect(parse(list)).toHaveLength(1_002);
    expect(() => parse("- &a [*a]")).toThrow(/nested more than 100 deep/);
  });

  for (const piece of ["[", "- ", "? ", "{a: ", "[{a: "]) {
    test(`800,000 times "${piece}" is rejected before it is parsed`, () => {
      expect(() => parse(piece.repeat(800_000))).toThrow(
        /^jobs\.yaml:1:\d+: is nested more than 100 deep/,
      );
    });
  }

  test("brackets and dashes inside texts are not nesting", () => {
    const lines = Array.from({ length: 300 }, () => "  [[[ - - - {{{").join("\n");
    const script = `command: [x, "${"[".repeat(300)}"]\nenv:\n  A: '${"- ".repeat(300)}'`;
    expect(parse(`script: |\n${lines}`)[0]?.spec?.script).toContain("[[[ - - - {{{");
    expect(parse(script)[0]?.spec?.command?.[1]).toHaveLength(300);
    expect(parse("- {command: [x]}\n".repeat(300))).toHaveLength(300);
  });

  test("more jobs than one call accepts", () => {
    expect(() => parse("- command: [x]\n".repeat(20_001))).toThrow(
      /has 20001 jobs; one call takes 20000/,
    );
  });
});

test("a request is passed on unchanged, and a selection with its options and parameters", () => {
  const text = `
command: [x]
request:
- - type: node
    requires: [{ subsystem: os, conditions: [&one { kind: present, field: name }, *one] }]
    with: [{ type: core, count: 0.5 }]
select:
  strategy: constraint
  options: [{ priority: 1, steps: [{ select: first }] }]
  parameters: { n: 4, zone: north, isSpot: true }
`;
  const present = { kind: "present", field: "name" };
  const [job] = parse(text);
  expect(JSON.parse(job?.spec?.request ?? "")).toEqual([
    [
      {
        type: "node",
        requires: [{ subsystem: "os", conditions: [present, present] }],
        with: [{ type: "core", count: 0.5 }],
      },
    ],
  ]);
  expect(job?.spec?.select).toEqual({
    strategy: "constraint",
    options: '{"priorities":[{"priority":1,"steps":[{"select":"first"}]}]}',
    parameters: {
      n: { value: { case: "number", value: 4 } },
      zone: { value: { case: "text", value: "north" } },
      isSpot: { value: { case: "flag", value: true } },
    },
  });
  expect(parse("{command: [x], select: {parameters: {n: 1}}}")[0]?.spec?.select).toMatchObject({
    strategy: undefined,
    options: undefined,
  });
});

describe("mistakes in a request or a selection are reported with their position", () => {
  const mistakes: readonly [string, string][] = [
    ["reqest: [[]]", 'jobs.yaml:2:1: unknown key "reqest"; did you mean "request"?'],
    ["request: [[{tpye: node}]]", 'jobs.yaml:2:10: request[0][0]: "tpye" is not known; did you'],
    ["request: node", "jobs.yaml:2:10: request: must be a list"],
    ["request: [[{type: a}]]\nresources: {cpu: 1}", "jobs.yaml:1:1: a job has either resources or"],
    ["select: {stratgy: a}", 'jobs.yaml:2:10: select: unknown key "stratgy"; did you mean "strat'],
    ["select: {options: {}}", "jobs.yaml:2:19: select.options: are those of a strategy; name it"],
    ["select: {strategy: a, options: 3}", "jobs.yaml:2:32: select.options: must be an object of"],
    ["select: {parameters: {a: [1]}}", "jobs.yaml:2:26: select.parameters.a: must be a number, a"],
  ];
  for (const [text, message] of mistakes) {
    test(message, () => {
      expect(() => parse(`command: [x]\n${text}`)).toThrow(
        expect.objectContaining({ message: expect.stringContaining(message) as string }),
      );
    });
  }
});
