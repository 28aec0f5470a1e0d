import { describe, expect, test } from "vitest";

import type { RunRequest } from "../../../ports/executor.ts";
import { withContainers } from "./pod-containers.ts";

const pod = (spec: object, kind = "Pod"): RunRequest["work"] => ({
  kind: "workload",
  text: JSON.stringify({ apiVersion: "v1", kind, name: "web", spec }),
});
const REQUEST: RunRequest = {
  id: { jobId: 1, index: 0, attempt: 1 },
  name: "web-1",
  arrayIndex: undefined,
  work: { kind: "command", argv: ["true"] },
  request: undefined,
  needs: {},
  env: { BUSBAR_JOB_ID: "1" },
  cwd: undefined,
  timeLimitMs: undefined,
  killGraceMs: 0,
  outputLimitBytes: 1,
};
const inContainers = (work: RunRequest["work"]) => withContainers({ ...REQUEST, work });

describe("an instance of a workload", () => {
  test("has the containers of its Pod, with their variables", () => {
    const ports = { port: 80, target_port: 80, protocol: null, type: "tcp" };
    const containers = [
      { name: "web", image: "nginx:1", env: [{ name: "A", value: "1" }], ports },
      { name: "side/car", image: "docker-archive:/images/log.tar" },
    ];
    expect(inContainers(pod({ containers }))).toEqual({
      ...REQUEST,
      work: { kind: "command", argv: [] },
      container: {
        image: undefined,
        containers: [
          { name: "web", image: "nginx:1", command: [], env: { A: "1" } },
          { name: "side-car", image: "docker-archive:/images/log.tar", command: [], env: {} },
        ],
        mounts: [],
        network: "host",
      },
    });
  });

  test("any other run is unchanged", () => {
    expect(withContainers(REQUEST)).toBe(REQUEST);
  });

  const rootfs = { execution: { rootfs: "http://x/y" } };
  const ports = { port: 80, target_port: 8080, protocol: null, type: "tcp" };
  const refused: readonly (readonly [RunRequest["work"], string])[] = [
    [pod({ containers: [], function: rootfs }, "Function"), "a Function needs a rik worker"],
    [pod({ containers: [] }), "the workload web has no containers"],
    [pod({ containers: [{ name: "a", image: "a:1", ports }] }), "port 80 cannot lead to 8080"],
    [pod({ containers: [{ name: "a", image: "-x:1" }] }), "spec.containers[0].image: must be"],
  ];
  for (const [work, says] of refused) {
    test(`is rejected: ${says}`, () => expect(() => inContainers(work)).toThrow(says));
  }
});
