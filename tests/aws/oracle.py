"""AWS's own client, asked line by line: {"service", "region", "call", "args"} in, {"answer"} or {"error"} out."""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

clients = {}


def client(service, region, endpoint):
    key = (service, region)
    if key not in clients:
        clients[key] = boto3.client(
            service,
            region_name=region,
            endpoint_url=endpoint,
            aws_access_key_id="oracle",
            aws_secret_access_key="oracle",
            config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}),
        )
    return clients[key]


for line in sys.stdin:
    asked = json.loads(line)
    try:
        found = client(asked["service"], asked["region"], sys.argv[1])
        answer = getattr(found, asked["call"])(**asked["args"])
        answer.pop("ResponseMetadata", None)
        if "Body" in answer:
            answer["Body"] = answer["Body"].read().decode()
        said = {"answer": answer}
    except ClientError as error:
        said = {"error": error.response["Error"]["Code"]}
    print(json.dumps(said, default=str), flush=True)
