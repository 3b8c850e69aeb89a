"""The service of docs/serving.md: 1,000 requests of one row on loopback equal `predict_proba`; bad rows get 422."""
# /// script
# dependencies = ["fastapi", "uvicorn", "pandas"]
# ///

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from clients.estimators import arrow_table
from tanager import AdditiveClassifier, save_model

READ_ONLY = ["unshare", "--mount", "sh", "-c", 'mount -o remount,ro,bind / && exec "$@"', "sh"]
"""Runs a command on a read-only root, as `docker run --read-only` does."""

X, y = arrow_table(1_000)
clf = AdditiveClassifier().fit(X, y)
expected = clf.predict_proba(X)
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
COMMAND = [sys.executable, "-m", "uvicorn", "clients.app:app", "--port", str(port), "--log-level", "warning"]


def connect() -> http.client.HTTPConnection:
    """The service, when it has started."""
    for _ in range(600):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.connect()
        except OSError:
            time.sleep(0.1)
        else:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    raise TimeoutError("the service did not start within 60 s")


def post(connection: http.client.HTTPConnection, rows: object) -> tuple[int, list[dict[str, float]]]:
    connection.request("POST", "/predict", json.dumps(rows), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


with tempfile.TemporaryDirectory() as folder:
    save_model(clf, Path(folder, "model.json"))
    allowed = subprocess.run([*READ_ONLY, "true"], capture_output=True, check=False).returncode == 0
    service = subprocess.Popen(
        [
            *(READ_ONLY if allowed else ()),
            sys.executable,
            "-m",
            "uvicorn",
            "clients.app:app",
            "--port",
            str(port),
            "--log-level",
            "warning",
        ],
        env={**os.environ, "MODEL": str(Path(folder, "model.json"))},
    )
    try:
        connection, seconds = connect(), []
        for number, row in enumerate(X.to_pylist()):
            begin = time.perf_counter()
            status, answers = post(connection, [row])
            seconds.append(time.perf_counter() - begin)
            assert status == 200, answers
            np.testing.assert_allclose([answers[0][label] for label in clf.classes_], expected[number], rtol=1e-12)
        for wrong in ([{"size": 1.0}], [{**row, "age": 1}], [{**row, "size": "tall"}], "no rows"):
            assert post(connection, wrong)[0] == 422, wrong
    finally:
        service.terminate()
        service.wait()
p50, p99 = 1e3 * np.quantile(seconds, [0.5, 0.99])
print(f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, first {1e3 * seconds[0]:.0f} ms{', on a read-only root' * allowed}")
