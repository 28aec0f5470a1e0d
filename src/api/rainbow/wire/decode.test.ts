import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { decodeRegister, decodeSubmit } from "./decode.ts";
import { bytesOf, type Field, SENT } from "../testing/wire.ts";

const keebler = bytesOf([1, "keebler"], [2, "t1"]);
const gingerbread = bytesOf([1, "gingerbread"], [2, "t2"]);
const option = (key: string, value: string): Field => [5, bytesOf([1, key], [2, value])];
const GRAPH = ' \n{"graph": {}}';
const SPEC = 'version: 1\ntasks: [{ command: ["echo", "a \\"b\\""] }]\n';

const command = {
  kind: "command",
  name: "hi",
  cluster: "keebler",
  token: "t1",
  nodes: 2,
  tasks: 3,
  command: "echo hi",
};
const jobspec = {
  kind: "jobspec",
  name: "app",
  clusters: [{ name: "keebler", token: "t1" }],
  jobspec: SPEC,
  algorithm: "",
  options: {},
  satisfyOnly: false,
  form: "newest",
};

/** With its clusters parsed. */
function submitted(bytes: Uint8Array): unknown {
  const request = decodeSubmit(bytes);
  return request.kind === "command" ? request : { ...request, clusters: request.clusters.read() };
}

describe("a submission", () => {
  const first: Field[] = [
    [1, "hi"],
    [2, "keebler"],
    [3, "t1"],
    [4, 2],
    [5, 3],
    [6, "echo hi"],
  ];
  const later: Field[] = [
    [1, "app"],
    [2, keebler],
    [3, SPEC],
  ];
  const table: readonly [string, readonly Field[], unknown][] = [
    ["A0, A and B of Go", [...first, [7, SENT]], command],
    ["A0, A and B of Python", first, command],
    ["A without tasks", first.filter(([number]) => number !== 5), { ...command, tasks: 0 }],
    ["A with tasks of -1", [...first, [5, -1]], { ...command, tasks: 0 }],
    ["A in another order", first.toReversed(), command],
    ["C of Go", [...later, [4, SENT]], { ...jobspec, form: "any" }],
    ["C of Python", later, { ...jobspec, form: "any" }],
    ["D with its time in 4", [...later, [4, SENT]], { ...jobspec, form: "any" }],
    [
      "D with an algorithm",
      [...later, [4, "random"], [5, SENT]],
      { ...jobspec, algorithm: "random" },
    ],
    ["E of Go", [...later, [7, SENT]], jobspec],
    [
      "E of Python",
      [
        ...later,
        [2, gingerbread],
        [4, "constraint"],
        option("priorities", "- a\n"),
        option("b", ""),
      ],
      {
        ...jobspec,
        clusters: [...jobspec.clusters, { name: "gingerbread", token: "t2" }],
        algorithm: "constraint",
        options: { priorities: "- a\n", b: "" },
      },
    ],
    ["E that only asks", [...later, [6, 1]], { ...jobspec, satisfyOnly: true }],
    ["nothing at all", [], { ...jobspec, name: "", clusters: [], jobspec: "", form: "any" }],
  ];
  for (const [name, fields, expected] of table) {
    test(`of generation ${name}`, () => {
      expect(submitted(bytesOf(...fields))).toEqual(expected);
    });
  }

  test("may have unknown fields, of any wire type", () => {
    const unknown = Buffer.concat([
      Buffer.from("a101", "hex"), // field 20, 64 bits
      Buffer.alloc(8),
      Buffer.from("ad01", "hex"), // field 21, 32 bits
      Buffer.alloc(4),
      bytesOf(...later, [7, SENT]),
    ]);
    expect(submitted(unknown)).toEqual(jobspec);
  });

  test("has all its clusters in order, wherever they stand; neighbours are one piece of bytes", () => {
    const names = ["a", "keebler", "b", "", "c"];
    const cluster = (name: string): Field => [2, bytesOf([1, name], [2, `t-${name}`])];
    const [a, b, c, d, e] = names.map(cluster) as [Field, Field, Field, Field, Field];
    const shown = names.map((name) => ({ name, token: `t-${name}` }));
    const fixed = Buffer.concat([Buffer.from("a101", "hex"), Buffer.alloc(8)]); // field 20
    const messages: readonly (readonly [Buffer, readonly Buffer[]])[] = [
      [bytesOf(a, b, c, d, e, [3, SPEC]), [bytesOf(a, b, c, d, e)]],
      [bytesOf([3, SPEC], a, b, c, d, e), [bytesOf(a, b, c, d, e)]],
      [bytesOf(a, b, [3, SPEC], c, d, [7, SENT], e), [bytesOf(a, b), bytesOf(c, d), bytesOf(e)]],
      [Buffer.concat([bytesOf(a), fixed, bytesOf(b, c, d, e)]), [bytesOf(a), bytesOf(b, c, d, e)]],
      [bytesOf(a, [2, 7], b, c, d, e), [bytesOf(a), bytesOf(b, c, d, e)]],
    ];
    for (const [message, pieces] of messages) {
      const request = decodeSubmit(message);
      if (request.kind !== "jobspec") throw new Error(request.kind);
      expect(request.clusters.read()).toEqual(shown);
      expect(request.clusters.bytes).toEqual(pieces);
    }
  });

  test("that is truncated, or no message, or no text is rejected", () => {
    const whole = bytesOf(...first);
    for (const bytes of [
      whole.subarray(0, whole.length - 1),
      bytesOf([2, keebler], [2, gingerbread]).subarray(0, -1),
      Buffer.from("0b", "hex"),
      Buffer.from("00", "hex"),
      Buffer.alloc(12, 0xff),
    ]) {
      expect(() => decodeSubmit(bytes)).toThrow("cannot parse invalid wire-format data");
    }
    const noText = bytesOf([1, Buffer.from([0xc3, 0x28])]);
    expect(() => decodeSubmit(noText)).toThrow("string field contains invalid UTF-8");
  });
});

describe("a registration", () => {
  const base: Field[] = [
    [1, "keebler"],
    [2, "s"],
  ];
  const alone = { name: "keebler", secret: "s", nodes: undefined, subsystem: "", form: "any" };
  const full = { ...alone, nodes: GRAPH, form: "newest" };
  const table: readonly [string, readonly Field[], unknown][] = [
    ["A0 and A of Go", [...base, [3, SENT]], alone],
    ["A0 and A of Python", base, alone],
    ["B, first", [...base, [3, GRAPH], [4, SENT]], full],
    [
      "B with a subsystem",
      [...base, [3, GRAPH], [4, "io"], [5, SENT]],
      { ...full, subsystem: "io" },
    ],
    ["C to E of Python", [...base, [3, GRAPH]], full],
    ["E of Go without nodes", [...base, [5, SENT]], { ...full, nodes: "" }],
    ["E with nodes that are none", [...base, [3, "nodes"]], { ...full, nodes: "nodes" }],
  ];
  for (const [name, fields, expected] of table) {
    test(`of generation ${name}`, () => {
      expect(decodeRegister(bytesOf(...fields))).toEqual(expected);
    });
  }
});

test("any bytes are decoded or rejected, never anything else", () => {
  const field = fc.tuple(
    fc.integer({ min: 1, max: 9 }),
    fc.oneof(fc.nat(), fc.string(), fc.uint8Array({ maxLength: 20 })),
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.array(field, { maxLength: 8 }).map((fields) => bytesOf(...fields)),
  );
  fc.assert(
    fc.property(bytes, (given) => {
      for (const decode of [decodeSubmit, decodeRegister]) {
        try {
          decode(given);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }
    }),
  );
});
