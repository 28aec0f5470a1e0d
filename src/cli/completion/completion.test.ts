import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { nouns } from "../nouns.ts";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";

let bash = "";
beforeAll(async () => {
  bash = (await runHere(["completion", "bash"])).stdout;
});

/** The completions of a real bash for the words; the last word is being typed. */
function offered(...words: string[]): readonly string[] {
  // The command itself: it prints its arguments, as a value.
  const program = `${bash}
busbar() { printf '%s-of-%s\\n' "$*" value | tr ' ' _; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_busbar
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync("bash", ["-c", program, "bash", "busbar", ...words]).toString();
  return output.split("\n").filter((line) => line !== "");
}

describe("bash", () => {
  test("accepts the script and registers it", () => {
    execFileSync("bash", ["-n"], { input: bash });
    const registered = execFileSync("bash", ["-c", `${bash}\ncomplete -p busbar`]).toString();
    expect(registered).toBe("complete -o default -F _busbar busbar\n");
  });

  test("offers commands, subcommands, flags and choices", () => {
    expect(offered("")).toEqual(expect.arrayContaining(nouns.map(({ name }) => name)));
    expect(offered("exp")).toEqual(["explain"]);
    expect(offered("nodes", "")).toEqual(
      expect.arrayContaining(["show", "drain", "undrain", "set", "remove"]),
    );
    expect(offered("nodes", "drain", "--re")).toEqual(["--reason"]);
    expect(offered("submit", "--retr")).toEqual(["--retries", "--retry-backoff"]);
    expect(offered("--server", "x:1", "jobs", "--state", "p")).toEqual(["pending"]);
    expect(offered("up", "--policy", "")).toEqual(["spread", "binpack", "round-robin", "random"]);
    expect(offered("completion", "f")).toEqual(["fish"]);
    expect(offered("jobs", "-o", "c")).toEqual(["csv"]);
  });

  test("leaves files to bash where any value may follow", () => {
    expect(offered("submit", "--file", "")).toEqual([]);
    expect(offered("run", "--", "ls", "-")).toEqual([]);
    expect(offered("run", "l")).toEqual([]);
  });

  test("requests ids and names from the server", () => {
    expect(offered("job", "")).toEqual(["completion_--values_jobs-of-value"]);
    expect(offered("cancel", "1", "")).toEqual(["completion_--values_jobs-of-value"]);
    expect(offered("nodes", "drain", "")).toEqual(["completion_--values_nodes-of-value"]);
    expect(offered("nodes", "c")).toEqual(["completion_--values_nodes-of-value"]);
    expect(offered("nodes", "dr")).toEqual(["drain"]);
    expect(offered("submit", "--node", "")).toEqual(["completion_--values_nodes-of-value"]);
    expect(offered("jobs", "--group", "")).toEqual(["completion_--values_groups-of-value"]);
    expect(offered("scale", "")).toEqual(["completion_--values_services-of-value"]);
    expect(offered("--server", "x:1", "cluster", "show", "")).toEqual([
      "--server_x:1_completion_--values_clusters-of-value",
    ]);
    expect(offered("watch", "--after", "")).toEqual([]);
  });

  test("does not offer hidden commands", () => {
    expect(offered("agent", "--exit")).toEqual([]);
  });
});

for (const shell of ["zsh", "fish"]) {
  test(`the script for ${shell} knows every command and flag of the one for bash`, async () => {
    const { stdout } = await runHere(["completion", shell]);
    for (const { name } of nouns) expect(stdout).toContain(name);
    for (const flag of ["idempotency-key", "node-lost-after", "reason", "output"]) {
      expect(stdout).toContain(flag);
    }
    // Quotes are balanced: every quote inside a text is written as '\'' .
    expect((stdout.replaceAll(String.raw`'\''`, "").match(/'/g) ?? []).length % 2).toBe(0);
  });
}

describe("values of the server", () => {
  test("are printed one per line", async () => {
    const server = await startFakeServer();
    try {
      const values = async (kind: string) =>
        (await runHere(["--server", server.address, "completion", "--values", kind])).stdout;
      expect((await values("jobs")).split("\n").slice(0, 2)).toEqual(["120", "119"]);
      expect(await values("nodes")).toBe("rack1-7\n");
      expect(await values("groups")).toBe("default\n");
    } finally {
      await server.close();
    }
  });

  test("are empty, without a message, where no server answers", async () => {
    const line = "--server 127.0.0.1:1 completion --values jobs";
    const { code, stdout, stderr } = await runHere(line.split(" "));
    expect([code, stdout, stderr]).toEqual([0, "", ""]);
  });
});
