import { expect, test } from "vitest";
import type { ServiceRowView } from "../../../server/services/service-views.ts";
import type { RikAccess } from "../operations.ts";
import { CONTROLLER_LABEL, WORKLOAD_LABEL } from "../translate.ts";
import { POD } from "../testing/rik-bed.ts";
import { WorkloadBook } from "./workload-book.ts";

const NOTHING = { as: () => ({}) } as unknown as RikAccess;

const serviceWith = (workload: string): ServiceRowView =>
  ({
    name: "web-1",
    template: { labels: { [CONTROLLER_LABEL]: "rest", [WORKLOAD_LABEL]: "w1" }, workload },
    state: "active",
    revision: 1,
  }) as unknown as ServiceRowView;

test("a stored service whose definition is rejected today is no workload, and does not stop the server", () => {
  const book = new WorkloadBook(NOTHING);
  expect(book.put(serviceWith(POD))?.id).toBe("w1");
  const halved = POD.replace("main", String.raw`\ud800`);
  expect(book.put({ ...serviceWith(halved), revision: 2 })).toBeUndefined();
  expect(book.get("w1")).toBeUndefined();
});
