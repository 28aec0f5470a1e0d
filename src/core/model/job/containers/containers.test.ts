import { describe, expect, test } from "vitest";
import { decodeJob, encodeJob } from "../../../state/jobs/job-codec.ts";
import { jobId } from "../../ids.ts";
import { type JobSpecInput, toJobSpec } from "../job-spec.ts";

const IMAGE = "docker-archive:/images/tool.tar";

describe("a job with an image", () => {
  test("keeps its command; by default mounts are read-only and the network is the host's", () => {
    const spec = toJobSpec({
      image: IMAGE,
      command: ["hostname"],
      mounts: [
        { source: "/data", target: "/in" },
        { source: "/out", target: "/out", writable: true },
      ],
    });
    expect(spec.work).toEqual({ kind: "command", argv: ["hostname"] });
    expect(spec.container).toEqual({
      image: IMAGE,
      containers: [],
      mounts: [
        { source: "/data", target: "/in", writable: false },
        { source: "/out", target: "/out", writable: true },
      ],
      network: "host",
    });
    expect(spec.where).toEqual({ containers: true });
  });

  test("needs no command: the image has one", () => {
    const spec = toJobSpec({ image: IMAGE });
    expect(spec.work).toEqual({ kind: "command", argv: [] });
    expect(spec.name).toBe("container");
  });

  for (const image of [
    "docker-archive:/a/b.tar:name:1.2",
    "oci-archive:/a.tar",
    "oci:/layout:v1",
    "docker://registry.local:5000/team/tool:1.2",
    "registry.local:5000/team/tool:1.2",
    "alpine",
    `alpine@sha256:${"0".repeat(64)}`,
  ]) {
    test(`${image} is an image`, () => expect(toJobSpec({ image }).container?.image).toBe(image));
  }

  for (const image of [
    "",
    "--help",
    "docker-archive:tool.tar",
    "docker-daemon:tool:1",
    "dir:/a",
    "a b",
    "Alpine",
  ]) {
    test(`${JSON.stringify(image)} is none`, () => {
      expect(() => toJobSpec({ image })).toThrow(/^image: must be docker-archive:FILE/);
    });
  }
});

describe("a job with containers", () => {
  test("has a name, an image, a command and an environment for each", () => {
    const spec = toJobSpec({
      env: { A: "1" },
      containers: [
        { name: "web", image: "nginx:1", env: { B: "2" } },
        { name: "log", image: "logger:1", command: ["tail", "-f"] },
      ],
    });
    expect(spec.container?.containers).toEqual([
      { name: "web", image: "nginx:1", command: [], env: { B: "2" } },
      { name: "log", image: "logger:1", command: ["tail", "-f"], env: {} },
    ]);
  });

  test("is the same when it is read from its row", () => {
    const spec = toJobSpec({ containers: [{ name: "a", image: "b:1" }], network: "none" });
    const job = {
      id: jobId(1),
      spec,
      submittedAtMs: 1,
      submittedBy: "t",
      idempotencyKey: undefined,
      closed: undefined,
      waitsFor: undefined,
    };
    expect(decodeJob(encodeJob(job)).spec.terms).toEqual(spec.terms);
  });
});

describe("rejected, naming the field", () => {
  const web = { name: "web", image: "nginx:1" };
  const cases: readonly (readonly [JobSpecInput, RegExp])[] = [
    [{ image: IMAGE, containers: [web] }, /^containers: give either an image or containers/],
    [{ containers: [web], command: ["true"] }, /^command: each container has a command/],
    [{ containers: [web], script: "true" }, /^script: each container has a command/],
    [{ containers: [web, web] }, /^containers\[1\]\.name: two containers are called web/],
    [{ containers: [{ ...web, name: "A" }] }, /^containers\[0\]\.name: must be a name of lower/],
    [{ containers: [{ name: "a" }] }, /^containers\[0\]\.image: must be docker-archive/],
    [{ containers: [{ ...web, env: { BUSBAR_X: "" } }] }, /^containers\[0\]\.env\.BUSBAR_X: /],
    [{ containers: [{ ...web, command: [""] }] }, /^containers\[0\]\.command: must name a program/],
    [
      { containers: Array.from({ length: 17 }, () => web) },
      /^containers: must have 0 to 16 entries, not 17/,
    ],
    [{ image: IMAGE, mounts: [{ source: "a", target: "/b" }] }, /^mounts\[0\]\.source: must be an/],
    [{ image: IMAGE, mounts: [{ source: "/a", target: "/" }] }, /^mounts\[0\]\.target: must be an/],
    [
      { image: IMAGE, mounts: [{ source: "/a", target: "/x/../y" }] },
      /^mounts\[0\]\.target: must not contain/,
    ],
    [
      { image: IMAGE, mounts: [{ source: "/a", target: "/./" }] },
      /^mounts\[0\]\.target: must not be the root/,
    ],
    [{ image: IMAGE, network: "bridge" }, /^network: must be one of host, none, not "bridge"/],
    [{ command: ["true"], network: "none" }, /^network: is for jobs with an image/],
    [
      { command: ["true"], mounts: [{ source: "/a", target: "/b" }] },
      /^mounts: is for jobs with an image/,
    ],
    [{ image: IMAGE, energy: { wattSeconds: 1 } }, /^image: cannot be combined with energy/],
    [{ image: IMAGE, jobspec: "version: 1" }, /^image: cannot be combined with a whole jobspec/],
    [{ image: IMAGE, placement: { kind: "pulling" } }, /^placement.kind: containers run on nodes/],
  ];
  for (const [input, says] of cases) {
    test(says.source, () => expect(() => toJobSpec(input)).toThrow(says));
  }
});
