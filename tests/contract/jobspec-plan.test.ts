import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseJobspec } from "../../src/core/jobspec/read/parse.ts";
import { plan, toScript } from "../../src/core/jobspec/plan/plan.ts";
import { toBusbarJobs } from "../../src/core/jobspec/write/to-busbar.ts";

/** Plans are lines for a shell: a real one runs them. */

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-plan-"));
  // Stand-ins that record their calls, answer with an id, and run batch scripts.
  const record = `for word in "$(basename "$0")" "$@"; do printf '%s\\0' "$word"; done >>"$CALLS"; printf '\\n\\0' >>"$CALLS"`;
  const ids = `n=$(cat "$COUNT" 2>/dev/null || echo 0); n=$((n + 1)); echo $n >"$COUNT"; echo id$n`;
  const files = {
    flux: `#!/bin/sh\n${record}\ncase "$1 $2" in\nbatch*) sh -s >/dev/null; ${ids} ;;\nsubmit*) ${ids}; case "$*" in *--cc=0-2*) ${ids} ;; esac ;;\nesac\n`,
    sbatch: `#!/bin/sh\n${record}\n${ids}\n`,
    srun: `#!/bin/sh\n${record}\n`,
    show: `#!/bin/sh\nfor word in "$@"; do printf '<%s>' "$word"; done; echo\n`,
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), content);
    chmodSync(join(directory, name), 0o755);
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const environment = () => ({
  PATH: `${directory}:${process.env["PATH"] ?? ""}`,
  CALLS: join(directory, "calls"),
  COUNT: join(directory, "count"),
});

/** The output of a script, run by a real shell. */
const run = (script: string): string =>
  execFileSync("/bin/sh", ["-c", script], {
    cwd: directory,
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"], // bash treats a socket there as a remote login
  }).toString();

/** How the schedulers' commands were called. */
function callsOf(script: string): readonly (readonly string[])[] {
  for (const name of ["calls", "count"]) rmSync(join(directory, name), { force: true });
  run(script);
  return readFileSync(join(directory, "calls"), "utf8")
    .split("\0\n\0")
    .slice(0, -1)
    .map((call) => call.split("\0"));
}

const ONE = "version: 1\nresources: {r: {type: node, count: 1, with: [{type: core, count: 2}]}}\n";
const HARD = ["it's", "$HOME `id` \\", "a;b|c&d", "", "*", "new\nline", '"', "~", "-n", "A=b", "é"];

describe("processes", () => {
  test("every word arrives unchanged", () => {
    const words = fc.array(fc.oneof(fc.constantFrom(...HARD), fc.string()), { maxLength: 5 });
    fc.assert(
      fc.property(words, fc.constantFrom(...HARD), (each, value) => {
        fc.pre(each.every((word) => !word.includes("\0") && word.isWellFormed()));
        const task = { command: ["show", ...each], resources: "r" };
        const attributes = { environment: { VALUE: value } };
        const text = JSON.stringify({
          version: 1,
          resources: { r: { type: "core", count: 1 } },
          attributes,
          tasks: [task, { local: true, command: ["sh", "-c", 'show "$VALUE"'] }],
        });
        const want = [each, [value]].map((one) => `${one.map((word) => `<${word}>`).join("")}\n`);
        expect(run(toScript(plan(parseJobspec(text), "process")))).toBe(want.join(""));
      }),
      { numRuns: 60 },
    );
  });

  test("a command runs the program, not a shell builtin of that name", () => {
    const script = toScript(
      plan(parseJobspec(`${ONE}tasks: [{command: [echo, 'a\\nb'], resources: r}]`), "process"),
    );
    expect(run(script)).toBe("a\\nb\n");
  });

  test("in order, in its directory, with its variables, as often as requested; a failure ends it", () => {
    const text = `${ONE}attributes: {environment: {WHO: me}}
tasks:
- {name: c, command: [sh, -c, "exit 3"], resources: r, depends_on: [b]}
- {name: d, command: [show, never], resources: r, depends_on: [c]}
- name: b
  resources: r
  depends_on: [a]
  replicas: 2
  attributes: {cwd: ${directory}, duration: 10, environment: {WHO: you}}
  script: show "$WHO" "$(pwd)" "$BUSBAR_ARRAY_INDEX"
- {name: a, command: [sh, -c, 'show "$WHO"'], resources: r}`;
    const script = toScript(plan(parseJobspec(text), "process"));
    const { stdout, status } = spawnSync("/bin/sh", ["-c", script], { env: environment() });
    expect(stdout.toString()).toBe(`<me>\n<you><${directory}><0>\n<you><${directory}><1>\n`);
    expect(status).toBe(3);
  });

  test("a missing directory ends it, also for several copies", () => {
    const text = `${ONE}tasks: [{command: [show, x], resources: r, replicas: 2, attributes: {cwd: /nowhere}}]`;
    const script = toScript(plan(parseJobspec(text), "process"));
    const { stdout, status } = spawnSync("/bin/sh", ["-c", script], { env: environment() });
    expect([stdout.toString(), status]).toEqual(["", 2]);
  });

  test("scripts run by their first line", () => {
    const script = (text: string) =>
      run(
        toScript(
          plan(
            parseJobspec(
              JSON.stringify({
                version: 1,
                resources: { r: { type: "core", count: 1 } },
                tasks: [{ script: text, resources: "r" }],
              }),
            ),
            "process",
          ),
        ),
      );
    expect(script("#!/bin/bash\necho ${BASH_VERSION:+bash} 'it''s'\n")).toBe("bash its\n");
    expect(script("#!/usr/bin/env -S cat -n\nhi\n")).toMatch(/1\t#!.*\n +2\thi\n/);
    expect(script("echo plain")).toBe("plain\n");
  });
});

describe("steps as one script", () => {
  const text = (steps: string) => `version: 1
resources: [{type: core, count: 1}]
task:
  scripts:
  - {name: "it's a.sh", content: "#!/bin/sh\\nshow \\"it's\\" \\"$(basename \\"$PWD\\")\\"; exit \${CODE:-0}"}
  - {name: b, content: "show b '$x'"}
  transform: ${steps}`;
  const scriptOf = (steps: string): string =>
    toBusbarJobs(parseJobspec(text(steps))).jobs[0]?.spec.script ?? "";

  test("files are written unchanged and run where they were written", () => {
    const output = run(
      scriptOf(`[{step: write, filename: "it's a.sh", executable: true},
        {step: set, key: stage, value: "sub dir"}, {step: submit, filename: "it's a.sh"}, {step: write, filename: b},
        {step: batch, filename: b}, {step: stage, filename: b}]`),
    );
    expect(output).toBe("<it's><sub dir>\n<b><$x>\n");
  });

  test("the first that fails ends it", () => {
    const script = scriptOf(`[{step: submit, filename: "it's a.sh"}, {step: submit, filename: b}]`);
    const { stdout, status } = spawnSync("/bin/sh", ["-c", script], {
      cwd: directory,
      env: { ...environment(), CODE: "4" },
    });
    expect([stdout.toString().includes("<b>"), status]).toEqual([false, 4]);
  });
});

const WORKFLOW = `version: 1
resources:
  r: {type: node, count: 1, with: [{type: core, count: 2}, {type: gpu, count: 1}]}
  wide: {type: node, count: 2, with: [{type: slot, count: 2, with: [{type: core, count: 3}, {type: memory, count: 2, unit: GiB}]}]}
attributes: {duration: 90m, environment: {A: "1,2 'x' $B"}}
tasks:
- {name: build it, command: [make, "it's", "$X"], resources: r, attributes: {cwd: /a b}}
- {name: try, command: [test-it, ""], resources: r, replicas: 3, depends_on: [build it]}
- {name: clean, local: true, command: [show, clean], depends_on: [try, g]}
groups:
- name: g
  resources: wide
  depends_on: [build it, try]
  tasks:
  - {name: x, command: [run, "END", "a\\nEND\\nb"]}
  - {name: y, resources: wide, command: [run, y], depends_on: [x, build it]}
  - {name: z, local: true, command: [show, z], depends_on: [y]}
  groups: [{name: h, depends_on: [x], tasks: [{command: [run, inner]}]}]
`;

test("flux: one process gets all cores of its node", () => {
  const text = `version: 1
resources: {spack: {type: node, count: 1, with: [{type: core, count: 10}]}}
tasks: [{name: build, command: [spack, install, ior], resources: spack}]`;
  expect(plan(parseJobspec(text), "flux")[0]?.line).toBe(
    "flux submit --job-name=build --nodes=1 --ntasks=1 --cores-per-task=10 spack install ior",
  );
});

test("flux: copies whose words have braces are submitted one by one", () => {
  const text = `${ONE}tasks: [{name: t, command: [awk, "{print}"], resources: r, replicas: 2}]`;
  const calls = callsOf(toScript(plan(parseJobspec(text), "flux")));
  expect(calls.map((words) => words.slice(-3))).toEqual([
    ["--env=BUSBAR_ARRAY_INDEX=0", "awk", "{print}"],
    ["--env=BUSBAR_ARRAY_INDEX=1", "awk", "{print}"],
  ]);
});

test("flux: groups are batches, ids are passed on, quoting loses nothing", () => {
  const script = toScript(plan(parseJobspec(WORKFLOW), "flux"));
  const common = ["--time-limit=5400s", "--env=A=1,2 'x' $$B"];
  const wide = ["--nodes=2", "--ntasks=4", "--cores-per-task=3"];
  const r = ["--nodes=1", "--ntasks=1", "--cores-per-task=2", "--gpus-per-task=1"];
  const slots = ["--nodes=2", "--nslots=4", "--cores-per-slot=3"];
  expect(callsOf(script)).toEqual([
    [
      "flux",
      "submit",
      "--job-name=build it",
      ...r,
      common[0],
      "--cwd=/a b",
      common[1],
      "make",
      "it's",
      "$X",
    ],
    [
      "flux",
      "submit",
      "--job-name=try",
      ...r,
      ...common,
      "--cc=0-2",
      "--env=BUSBAR_ARRAY_INDEX={cc}",
      "--dependency=afterok:id1",
      "test-it",
      "",
    ],
    [
      "flux",
      "batch",
      "--job-name=g",
      ...slots,
      ...common,
      "--dependency=afterok:id1",
      "--dependency=afterok:id2",
      "--dependency=afterok:id3",
    ],
    [
      "flux",
      "submit",
      "--job-name=g/x",
      ...wide,
      ...common,
      "--flags=waitable",
      "run",
      "END",
      "a\nEND\nb",
    ],
    [
      "flux",
      "submit",
      "--job-name=g/y",
      ...wide,
      ...common,
      "--dependency=afterok:id4",
      "--flags=waitable",
      "run",
      "y",
    ],
    ["flux", "job", "status", "id5"],
    [
      "flux",
      "batch",
      "--job-name=g/h",
      ...slots,
      ...common,
      "--dependency=afterok:id4",
      "--flags=waitable",
    ],
    [
      "flux",
      "submit",
      "--job-name=g/h/h-task-0",
      ...wide,
      ...common,
      "--flags=waitable",
      "run",
      "inner",
    ],
    ["flux", "job", "wait", "--all"],
    ["flux", "job", "wait", "--all"],
    ["flux", "job", "status", "id2", "id3"],
    ["flux", "job", "status", "id8"],
  ]);
});

test("slurm: groups are split, each task is an sbatch", () => {
  const script = toScript(plan(parseJobspec(WORKFLOW), "slurm"));
  const parsable = ["sbatch", "--parsable"];
  const wide = [
    "--nodes=2",
    "--ntasks=4",
    "--cpus-per-task=3",
    "--mem-per-cpu=699051K",
    "--time=01:30:00",
  ];
  const r = [
    "--nodes=1",
    "--ntasks=1",
    "--cpus-per-task=2",
    "--gpus-per-task=1",
    "--time=01:30:00",
  ];
  const after = (...ids: string[]) => [
    `--dependency=afterok:${ids.join(":")}`,
    "--kill-on-invalid-dep=yes",
  ];
  expect(callsOf(script)).toEqual([
    [...parsable, "--job-name=build it", ...r, "--chdir=/a b", `--wrap=make 'it'\\''s' '$X'`],
    [...parsable, "--job-name=try", ...r, "--array=0-2", ...after("id1"), "--wrap=test-it ''"],
    [
      ...parsable,
      "--job-name=g/x",
      ...wide,
      ...after("id1", "id2"),
      "--wrap=srun run END 'a\nEND\nb'",
    ],
    [...parsable, "--job-name=g/y", ...wide, ...after("id3", "id1"), "--wrap=srun run y"],
    ["srun", "--ntasks=1", ...after("id4"), "true"],
    [...parsable, "--job-name=g/h/h-task-0", ...wide, ...after("id3"), "--wrap=srun run inner"],
    ["srun", "--ntasks=1", ...after("id2", "id3", "id4", "id5"), "true"],
  ]);
});
