"""What no schema can say: the refusals of valid requests that the fuzzer overlooks, each by its name,
and ids of records that exist, without which it would see little but 404."""

import json
import os
import re
import urllib.request

import schemathesis
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import positive_data_acceptance

# The code of a refusal, the field at fault, and the sentence.
OVERLOOKED = {
    "that an id in a body or a query exists": ("invalid_request", r"productId|planId", r"must be the id of an existing"),
    "that an Idempotency-Key was used before": ("idempotency_key_reused", None, r".*"),
    "that the key of an answer is shown only once": ("conflict", None, r"This was done before"),
}
