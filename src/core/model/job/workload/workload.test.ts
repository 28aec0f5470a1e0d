import { expect, test } from "vitest";
import { toJobSpec } from "../job-spec.ts";
import { podOf, readWorkload } from "./workload.ts";

const pod = (container: object = {}, more: object = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    name: "web",
    spec: { containers: [{ name: "main", image: "alpine:latest", ...container }] },
    ...more,
  });

const fn = (rootfs: string): string =>
  pod({}, { kind: "Function", spec: { function: { execution: { rootfs } } } });

test("a definition is read with the total requests of its containers", () => {
  const requests = { cpu: "500m", memory: "128Mi" };
  const text = pod({ resources: { requests }, env: [{ name: "A", value: "b" }] }, { replicas: 3 });
  expect(readWorkload(text)).toMatchObject({
    kind: "Pod",
    name: "web",
    replicas: 3,
    containers: [{ name: "main", image: "alpine:latest", env: [{ name: "A", value: "b" }] }],
    requests: { cpu: 0.5, memory: 128 * 2 ** 20 },
  });
  expect(podOf(text)?.containers.length).toBe(1);
});

test("a function needs a root file system, and is not a pod", () => {
  const call = { execution: { rootfs: "https://example.com/rootfs.ext4" } };
  const text = pod({}, { kind: "Function", spec: { function: call } });
  expect(readWorkload(text)).toMatchObject({ containers: [], function: call });
  expect(podOf(text)).toBeUndefined();
  expect(() => readWorkload(pod({}, { kind: "Function" }))).toThrow("spec.function: is missing");
});

const WRONG: readonly (readonly [string, string, string])[] = [
  ["text", "{", "is not JSON"],
  ["no object", "3", "must be an object"],
  ["kind", pod({}, { kind: "pods" }), 'kind: must be Pod or Function, not "pods"'],
  ["no name", pod({}, { name: undefined }), "name: is missing"],
  ["spec", pod({}, { spec: [] }), "spec: must be an object"],
  [
    "image without a tag",
    pod({ image: "alpine" }),
    'spec.containers[0].image: "alpine" has no tag',
  ],
  ["empty image", pod({ image: ":" }), "has no tag"],
  ["no image", pod({ image: undefined }), "spec.containers[0].image: is missing"],
  ["env", pod({ env: [{ name: "A" }] }), "spec.containers[0].env[0].value: is missing"],
  [
    "port",
    pod({ ports: { port: 70_000 } }),
    "spec.containers[0].ports.port: must be a whole number",
  ],
  ["half a character", pod({ name: "\ud800" }), "spec.containers[0].name: must not contain half"],
  ["half a character of the name", pod({}, { name: "a\udfff" }), "name: must not contain half"],
  [
    "half a character of env",
    pod({ env: [{ name: "A", value: "\udc00" }] }),
    "env[0].value: must not",
  ],
  ["URL without a host", fn("http://"), 'rootfs: "http://" is not an absolute URL'],
  ["URL with a wrong port", fn("http://h:99999/x"), "is not an absolute URL"],
  ["replicas", pod({}, { replicas: -1 }), "replicas: must be a whole number"],
  [
    "restart policy",
    pod({}, { spec: { restartPolicy: "always" } }),
    "spec.restartPolicy: must be one of Always, OnFailure, Never",
  ],
  [
    "amount",
    pod({ resources: { requests: { cpu: "much" } } }),
    'spec.containers[0].resources.requests.cpu: "much" is not an amount, like 0.5 or 500m',
  ],
];
for (const [name, text, message] of WRONG) {
  test(`a wrong definition is refused, with the path: ${name}`, () => {
    expect(() => readWorkload(text)).toThrow(message);
  });
}

test("images with a registry's port or a digest have a tag", () => {
  for (const image of ["host:5000/x:y", "alpine@sha256:0123", "user/app:1"]) {
    expect(readWorkload(pod({ image })).containers[0]?.image).toBe(image);
  }
});

test("a job with a workload takes an instance, and a cpu only when it requests one", () => {
  expect(toJobSpec({ workload: pod() })).toMatchObject({
    name: "workload",
    work: { kind: "workload", text: pod() },
    needs: { instances: 1 },
  });
  expect(toJobSpec({ workload: pod(), resources: { cpu: 0.5 } }).needs).toEqual({
    cpu: 500,
    instances: 1,
  });
  expect(() => toJobSpec({ workload: pod(), resources: { instances: 0 } })).toThrow("at least one");
  expect(() => toJobSpec({ workload: "{" })).toThrow("workload: is not JSON");
  expect(() => toJobSpec({ workload: pod(), command: ["true"] })).toThrow("not both");
});
