"""What schemathesis cannot know of Busbar's API."""

import schemathesis


def without_most_conditions(values):
    """No row has a revision that was drawn by chance: three of four such changes go without a condition."""
    if isinstance(values, dict):
        revision = values.get("ifRevision")
        if isinstance(revision, int) and 0 <= revision < 2**53 and revision % 4 != 3:
            values.pop("ifRevision")
    return values


@schemathesis.hook
def map_query(context, query):
    """An output that is followed ends with its task, which may never end here."""
    if context.operation is not None and context.operation.path.endswith("/output") and query:
        query.pop("follow", None)
    return without_most_conditions(query)


@schemathesis.hook
def map_body(context, body):
    return without_most_conditions(body)


@schemathesis.hook
def before_call(context, case, **kwargs):
    """Its coverage phase, which asks no other hook, sends every parameter that may be left out, with its least value:
    so that no cluster is ever changed, for none that is there has revision 0."""
    if case.query and str(case.query.get("ifRevision")) == "0":
        case.query.pop("ifRevision")
    if case.query and case.path.endswith("/output") and str(case.query.get("follow")).lower() == "true":
        case.query.pop("follow")
