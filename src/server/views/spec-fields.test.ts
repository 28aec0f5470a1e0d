import { describe, expect, test } from "vitest";
import { type JobSpecInput, toJobSpec } from "../../core/model/job/job-spec.ts";
import { showSpec } from "./show.ts";

/** What the answer says of a spec that was submitted so. */
const shown = (input: JobSpecInput) => showSpec(toJobSpec({ command: ["true"], ...input }));

describe("comment", () => {
  test("is shown as it was submitted, and absent where there is none", () => {
    expect(shown({ comment: "for the paper" }).comment).toBe("for the paper");
    expect(shown({})).not.toHaveProperty("comment");
  });

  test("has at most 1024 printable characters", () => {
    expect(shown({ comment: "x".repeat(1_024) }).comment).toHaveLength(1_024);
    expect(() => shown({ comment: "x".repeat(1_025) })).toThrow("comment: at most 1024 characters");
    expect(() => shown({ comment: "a\u001b[2J" })).toThrow("comment: must not have control");
  });
});
