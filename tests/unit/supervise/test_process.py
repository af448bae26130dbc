"""A process of a part, as the supervisor sees it."""

import asyncio
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing

from crawler.parts.line.line import open_line
from crawler.parts.line.messages import FromPart
from crawler.supervise.process import PartProcess
from crawler.testing.timeouts import MAX_WAIT_S


async def test_a_process_that_does_not_end_keeps_no_thread_from_other_work() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    ours, its = socket.socketpair()
    async with AsyncExitStack() as stack:
        stack.callback(its.close)
        line = await stack.enter_async_context(aclosing(await open_line(ours, FromPart)))
        process = PartProcess(subprocess.Popen(["sleep", "infinity"]), line)  # noqa: ASYNC220 - it returns at once
        stack.callback(process.kill)
        waiting = asyncio.create_task(process.wait())
        await asyncio.sleep(0)
        async with asyncio.timeout(MAX_WAIT_S):
            assert await asyncio.to_thread(int) == 0
        assert not waiting.done()
        process.kill()
        assert await waiting == "by SIGKILL"
