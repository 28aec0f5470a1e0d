import { expect, test } from "vitest";
import { renderEvent } from "../render/event.ts";
import type { ServiceRow } from "../rows.ts";
import { renderService } from "./render-services.ts";

test("a workload is shown with its definition, and its events do not say that no instance is wanted", () => {
  const page = { width: undefined, colour: false, nowMs: 100_000_000 };
  const template = { workload: '{"kind":"Pod"}', resources: {} };
  const row = { name: "web", template, replicas: 0, generation: 2, state: "rolling", former: [] };
  const service = { ...row, createdAtMs: 1_000, changedBy: "rik" } as unknown as ServiceRow;
  expect(renderService(service, [], page)).toMatch(/^Workload: +{"kind":"Pod"}$/m);
  const line = renderEvent({ revision: 7, service }, page);
  expect(line).toBe("7  service web  rolling  generation 2");
});
