import { HTTP2 } from "../../../../lib/http2/error-codes.ts";

/** The client breaks the rules of HTTP/2: its connection ends with this reason. */
export class Http2Error extends Error {
  readonly code: number;

  constructor(code: number, problem: string) {
    super(problem);
    this.name = "Http2Error";
    this.code = code;
  }
}

export const breach = (problem: string): Http2Error =>
  new Http2Error(HTTP2.PROTOCOL_ERROR, problem);

export const wrongSize = (name: string): Http2Error =>
  new Http2Error(HTTP2.FRAME_SIZE_ERROR, `${name} has a wrong size`);

export const windowTooLarge = (): Http2Error =>
  new Http2Error(HTTP2.FLOW_CONTROL_ERROR, "a window is too large");
