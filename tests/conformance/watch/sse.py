"""Reads server-sent events as gzip and prints each when it has come.

sse.py URL: prints "ENCODING" with the server's, then one line for each event: its name and its data.
"""

import sys
import urllib.request
import zlib


def main(url):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as response:
        print("ENCODING", response.headers["Content-Encoding"], flush=True)
        decoder = zlib.decompressobj(wbits=31)  # gzip, with its length and checksum
        text = ""
        while chunk := response.read1(65536):
            text += decoder.decompress(chunk).decode()
            *events, text = text.split("\n\n")
            for event in events:
                fields = dict(line.split(": ", 1) for line in event.split("\n") if ": " in line)
                print(fields.get("event"), fields.get("data"), flush=True)
        print("COMPLETE" if decoder.eof else "CUT OFF", flush=True)


main(*sys.argv[1:])
