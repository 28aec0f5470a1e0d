import { expect, test } from "vitest";
import type { TerminalPage } from "../render/page.ts";
import { renderListening } from "./listening.ts";

const page: TerminalPage = { width: undefined, colour: false, nowMs: 100_000_000 };

test("only addresses that are served are printed", () => {
  const rik = { workers: "127.0.0.1:4995", controllers: "127.0.0.1:4996", rest: undefined };
  const text = renderListening(
    { command: "busbar", http: "127.0.0.1:1", grpc: "127.0.0.1:2", data: "/d", rik },
    page,
  );
  expect(text).toContain("rik controllers:");
  expect(text).not.toContain("rik REST");
});

test("a server on its usual port needs no flag in the printed commands", () => {
  const command = "./busbar";
  const usual = { command, http: "127.0.0.1:7070", grpc: "127.0.0.1:7071", data: "/d", node: "a" };
  expect(renderListening(usual, page)).toContain("Try:  ./busbar run -- echo hello");
  const installed = renderListening({ ...usual, command: "busbar" }, page);
  expect(installed).toContain("Try:  busbar run -- echo hello");
  const other = renderListening({ ...usual, grpc: "127.0.0.1:9" }, page);
  expect(other).toContain("Try:  ./busbar --server 127.0.0.1:9 run -- echo hello");
  const all = { command, http: "[::]:7070", grpc: "[::]:7071", data: "/d" }; // which is every machine itself
  expect(renderListening(all, page)).toMatch(/--server HOST:7071 \(HOST: a name or address/);
});
