import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isLike, readSteps, type Step } from "../support/console-page.ts";
import { type Running, Site } from "../support/busbar.ts";
import { lastingAddress } from "../support/lasting-address.ts";

// Runs every command of docs/getting-started.md in order, as a user in their own directory.

const root = fileURLToPath(new URL("../../", import.meta.url));
const steps = readSteps(readFileSync(`${root}docs/getting-started.md`, "utf8"));

let site: Site;
const terminals = new Map<string, Running>();
beforeAll(() => {
  site = new Site();
});
afterAll(() => site.close());

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${dirname(`${root}busbar`)}:${process.env["PATH"] ?? ""}`,
  BUSBAR_SERVER: site.server,
});

/** A separate terminal. Ports are any free ones: other tests run at the same time. */
async function startTerminal({ terminal, command }: Step): Promise<string> {
  const [, ...args] = command.split(" ");
  const isServer = args[0] === "up";
  const grpc = site.server || (await lastingAddress());
  const flags = isServer ? ["--http", "127.0.0.1:0", "--grpc", grpc] : [];
  flags.push("--log-level", "warn"); // as on a terminal
  const options = { cwd: site.directory, env: environment() };
  const running = site.startProgram([...args, ...flags], options);
  terminals.set(terminal, running);
  if (isServer) {
    site.server = await running.prints(/gRPC:\s+(\S+:\d+)/);
    await running.prints(/Try: .*\n/);
  } else await site.nodeIs("second", "connected");
  return running.output;
}

async function perform(step: Step): Promise<string> {
  if (step.kind === "file") {
    writeFileSync(site.path(step.command), `${step.expected.join("\n")}\n`);
    return "";
  }
  if (step.kind === "stop") {
    await terminals.get(step.terminal)?.end("SIGINT");
    return "";
  }
  if (step.terminal !== "") return startTerminal(step);
  const options = { cwd: site.directory, env: environment(), timeout: 60_000 };
  return new Promise((resolve) => {
    execFile("bash", ["-c", step.command], options, (error, stdout, stderr) => {
      const code = error === null ? "" : `[exit ${String(error.code)}]\n`;
      resolve(`${stdout}${stderr}${code}`);
    });
  });
}

test("the page has steps in three terminals", () => {
  expect(new Set(steps.map(({ terminal }) => terminal))).toEqual(new Set(["", "server", "second"]));
  expect(steps.length).toBeGreaterThan(15);
});

test("every command prints what the page shows", async () => {
  const wrong: string[] = [];
  for (const step of steps) {
    const printed = await perform(step);
    if (step.kind !== "command" || isLike(step.expected, printed)) continue;
    wrong.push(`$ ${step.command}\n${printed}`);
  }
  expect(wrong.join("\n")).toBe("");
});
