"""Reads the text of /metrics from stdin with Prometheus' own parser, and prints its families as JSON."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

families = {
    family.name: {
        "type": family.type,
        "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
    }
    for family in text_string_to_metric_families(sys.stdin.read())
}
json.dump(families, sys.stdout)
