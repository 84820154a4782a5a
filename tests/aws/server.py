"""The server that answers as AWS does, with one word put right that it spells otherwise than S3."""

from moto.s3.responses import S3Response
from moto.server import main

told = S3Response.get_bucket_versioning


def spelled(self):
    code, headers, body = told(self)
    text = body.decode() if isinstance(body, bytes) else body
    return code, headers, text.replace("GetBucketVersioningResponse", "VersioningConfiguration")


S3Response.get_bucket_versioning = spelled
main()
