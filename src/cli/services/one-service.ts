import type { Service } from "../../client/messages.ts";
import { toServiceRow } from "../json.ts";
import { renderServices } from "./render-services.ts";
import type { Answer } from "../session.ts";

/** A service that was changed, as it is then. */
export function oneService(service: Service): Answer {
  const row = toServiceRow(service);
  return { json: row, text: (page) => renderServices([row], page) };
}
