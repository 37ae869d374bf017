"""The peer of `bench/compare_serve.py`: a model in ONNX Runtime behind FastAPI, as people write such a server.
Usage: serve_peer.py MODEL.onnx PORT --threads N --workers N: each of `workers` requests at a time runs the model
with `threads` threads. POST /classify with the bytes of an image answers as `cait serve` does."""
import argparse
import contextlib
import io
import json

import anyio.to_thread
import numpy as np
import onnxruntime
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)


def pixels(data: bytes, side: int = 224) -> np.ndarray:
    image = Image.open(io.BytesIO(data)).convert("RGB")
    if image.size != (side, side):  # those of the comparison have the model's size
        image = image.resize((side, side), Image.Resampling.BICUBIC)
    values = np.asarray(image, np.float32).transpose(2, 0, 1) / 255
    return (values - MEAN) / STD


def application(session: onnxruntime.InferenceSession, workers: int) -> FastAPI:
    @contextlib.asynccontextmanager
    async def limited(_: FastAPI):
        anyio.to_thread.current_default_thread_limiter().total_tokens = workers
        yield

    app, name = FastAPI(lifespan=limited), session.get_inputs()[0].name

    def classify(data: bytes) -> str:
        logits = session.run(None, {name: pixels(data)[None]})[0][0]
        scores = np.exp(logits - logits.max())
        scores /= scores.sum()
        best = np.argsort(-scores)[:5]
        return json.dumps([{"label": str(i), "score": float(scores[i])} for i in best])

    @app.post("/classify")
    async def answer(request: Request) -> Response:
        return Response(await run_in_threadpool(classify, await request.body()), media_type="application/json")

    return app


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("port", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(options.model, settings, providers=["CPUExecutionProvider"])
    uvicorn.run(application(session, options.workers), host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
