import type { Service } from "../../client/messages.ts";
import { toServiceRow } from "../json.ts";
import { renderServices } from "./render-services.ts";
import type { Answer } from "../session.ts";

/** A changed service, in its new state. */
export function oneService(service: Service): Answer {
  const row = toServiceRow(service);
  return { json: row, text: (page) => renderServices([row], page) };
}
