import { describe, expect, test } from "vitest";
import type { Condition } from "../../core/graph/request/request.ts";
import { describeRequirement } from "../../core/graph/request/requirement.ts";
import { requirement } from "./requirement.ts";

const read = requirement("--require");
const present = (field: string): Condition => ({ kind: "present", field });
const oneOf = (field: string, ...values: string[]): Condition => ({
  kind: "one-of",
  field,
  values,
});
const version = (field: string, min?: string, max?: string): Condition => ({
  kind: "version",
  field,
  min,
  max,
});

describe("requirements in short", () => {
  const cases: readonly [string, string, readonly Condition[]][] = [
    ["os:name", "os", [present("name")]],
    ["os:name=debian", "os", [oneOf("name", "debian")]],
    ["os:name=debian|ubuntu", "os", [oneOf("name", "debian", "ubuntu")]],
    ["spack:name=ior,version>=3.3", "spack", [oneOf("name", "ior"), version("version", "3.3")]],
    ["mpi:version<=4.1,version>=3", "mpi", [version("version", "3", "4.1")]],
    ["mpi:version>=3,name=a,version<=4", "mpi", [version("version", "3", "4"), oneOf("name", "a")]],
    [" io : type = shm , size ", "io", [oneOf("type", "shm"), present("size")]],
    ["arch:attributes.software=a:b=c", "arch", [oneOf("attributes.software", "a:b=c")]],
  ];
  for (const [text, subsystem, conditions] of cases) {
    test(text, () => expect(read(text)).toEqual([{ subsystem, conditions }]));
  }

  test("several are collected, and people read them as they were written", () => {
    const all = read("os:name=debian", read("spack:name=ior,version>=3.3"));
    expect(all.map(describeRequirement)).toEqual([
      "spack name=ior, version >= 3.3",
      "os name=debian",
    ]);
  });
});

describe("an invalid requirement is rejected with a valid example", () => {
  const FORM = "is not of the form subsystem:field=value, like os:name=debian";
  const CONDITION = "is not a condition; write field, field=value, field=a|b, version>=1.2";
  const cases: readonly [string, string][] = [
    ["os", `"os" ${FORM}`],
    ["os:", `"os:" ${FORM}`],
    [":name=a", `":name=a" ${FORM}`],
    ["", `"" ${FORM}`],
    ["os:name=", `"name=" ${CONDITION}`],
    ["os:=a", `"=a" ${CONDITION}`],
    ["os:a,,b", `"" ${CONDITION}`],
    ["os:name!=a", `"name!=a" ${CONDITION}`],
    ["os:version>3", `"version>3" ${CONDITION}`],
    ["os:version>=3<=4", `"version>=3<=4" ${CONDITION}`],
    ["os:name debian", `"name debian" ${CONDITION}`],
    ["os:name=a,name=b", "names name twice; for one of several values write name=a|b"],
    ["os:name,name>=1", "names name twice"],
    ["os:v>=1,v>=2", "names v twice"],
    ["os:v>=1,v=2", "names v twice"],
    ["os:v>=1,v", "names v twice"],
  ];
  for (const [text, message] of cases) {
    test(text === "" ? "nothing" : text, () => {
      expect(() => read(text)).toThrow(
        expect.objectContaining({
          field: "--require",
          message: expect.stringContaining(`--require: ${message}`) as string,
        }),
      );
    });
  }
});
