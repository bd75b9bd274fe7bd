"""Spark Connect: a client that talks to a server, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

HAS_JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")
needs_java = pytest.mark.skipif(not HAS_JAVA, reason="Spark needs Java, and there is none")

CONNECT = """
import sys
import numpy as np, pandas as pd
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from projse import ProjSe
from projse.spark import ProjSeSelector, moments

rng = np.random.default_rng(0)
names = [f"v{j}" for j in range(6)]
df = pd.DataFrame(rng.normal(size=(300, 6)), columns=names)
df["y"] = df["v2"] + 0.5 * df["v4"] + 0.1 * rng.normal(size=300)
want = ProjSe(3).fit(df[names], df["y"])
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
sdf = spark.createDataFrame(df).repartition(3)
assembled = VectorAssembler(inputCols=names, outputCol="features")
pipeline = Pipeline(stages=[assembled, ProjSeSelector(targetCols=["y"], numFeatures=3)])
fitted = pipeline.fit(sdf)
fitted.save(sys.argv[1])
fitted = PipelineModel.load(sys.argv[1])
assert fitted.stages[1].selected == want.selected_.tolist()
assert fitted.transform(sdf).count() == 300
got = ProjSe(3).fit_spark(sdf, features=names, targets="y")
assert got.selected_.tolist() == want.selected_.tolist()
np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-10)
try:
    moments(sdf.selectExpr("if(v0 > 0, null, v0) as v0", "y"), features=["v0"], targets="y")
except ValueError as error:
    assert "Partition" in str(error) and "'v0'" in str(error), error
else:
    raise AssertionError
spark.stop()
print("done")
"""


@pytest.mark.slow
@needs_java
def test_spark_connect(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    pytest.importorskip("grpc_status", reason="Spark Connect needs grpcio-status")
    script = tmp_path / "connect.py"
    script.write_text(CONNECT)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "model")],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("done")
