import { describe, expect, test } from "vitest";
import { parseJobspec } from "../read/parse.ts";
import { toFluxSteps } from "./to-flux-steps.ts";

const steps = (text: string) =>
  toFluxSteps(
    parseJobspec(`version: 1
resources:
  r: {type: node, count: 1, with: [{type: core, count: 2}]}
  wide: {type: node, count: 2, with: [{type: slot, count: 2, with: [{type: core, count: 3}]}]}
${text}`),
  );

describe("a group at the top is one step", () => {
  const found = steps(`attributes: {environment: {A: $x}}
tasks:
- {name: first, command: [x], resources: r}
- {group: g}
- {name: last, command: [x], local: true, depends_on: [g]}
groups:
- name: g
  resources: wide
  attributes: {duration: 1m, cwd: /data}
  tasks:
  - {name: a, command: [echo, "it's a"], depends_on: [first]}
  - {name: b, command: [x], resources: r, replicas: 2, depends_on: [a]}
  - {name: c, local: true, command: [awk, "{print}"], replicas: 3, depends_on: [h]}
  groups: [{name: h, depends_on: [b], tasks: [{name: d, command: [x]}]}]
`);

  test("which has the dependencies of its descendants outside of it", () => {
    expect(found.map(({ name, after, launch }) => [name, after, launch])).toEqual([
      ["first", [], "each-process"],
      ["g", ["first"], "once"],
      ["last", ["g"], "each-process"],
    ]);
    expect(found[1]).toMatchObject({
      cwd: "/data",
      timeLimitMs: 60_000,
      shape: { nodes: 2, processes: 4, coresPerProcess: 3 },
    });
  });

  test("whose script submits its tasks, shows their output and exits with the first failed code", () => {
    const common = "--time-limit=60s --cwd=/data --env='A=$$x'";
    const wide = "--nodes=2 --ntasks=4 --cores-per-task=3";
    const afterB = "$(printf -- '--dependency=afterok:%s ' $job_g_b)";
    const lines = found[1]?.script.split("\n") ?? [];
    expect(lines.filter((line) => line.includes("flux submit"))).toEqual([
      `job_g_a=$(flux submit --job-name=g/a ${wide} ${common} echo 'it'\\''s a') || busbar_rejected=$?`,
      `[ -n "$job_g_a" ] && job_g_b=$(flux submit --job-name=g/b --nodes=1 --ntasks=1 --cores-per-task=2 ${common} --cc=0-1 --env=BUSBAR_ARRAY_INDEX={cc} --dependency=afterok:"$job_g_a" x) || busbar_rejected=$?`,
      `[ -n "$job_g_b" ] && job_g_h_d=$(flux submit --job-name=g/h/d ${wide} ${common} ${afterB} x) || busbar_rejected=$?`,
      `[ -n "$job_g_h_d" ] && job_g_c=$(i=0 && while [ "$i" -lt 3 ]; do flux submit --job-name=g/c --ntasks=1 ${common} --env=BUSBAR_ARRAY_INDEX="$i" --dependency=afterok:"$job_g_h_d" awk '{print}' || exit; i=$((i + 1)); done) || busbar_rejected=$?`,
    ]);
    expect(found[1]?.script).toContain(
      'busbar_show g/a $job_g_a\nbusbar_show g/b $job_g_b\nbusbar_show g/h/d $job_g_h_d\nbusbar_show g/c $job_g_c\n[ "$busbar_code"',
    );
  });
});

test("tasks outside of groups are as for every scheduler", () => {
  expect(steps("tasks: [{name: t, command: [x], resources: wide, replicas: 2}]")).toMatchObject([
    { name: "t", launch: "each-process", copies: 2, shape: { processes: 4 } },
  ]);
});
