package io.jccl.runtime;

import io.jccl.InterruptedCommunicationException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.init.ConnectedDevice;
import io.jccl.init.InitializedCommunicator;
import io.jccl.init.StagedDevice;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The orderly end of a communicator, in bounded time whatever state it is in. */
final class Closing {

    private static final Logger LOG = LoggerFactory.getLogger(Closing.class);
    private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);

    private Closing() {}

    /**
     * Finishes what was issued, tells the other ranks, and frees everything; then throws, if ranks turn out to have called
     * different operations and no call of this rank has said so.
     *
     * @param device for memory of this rank's device, or null
     * @param unwatch called when nothing is waited for any more
     * @param mark called when no operation may be issued any more
     */
    static void close(
            InitializedCommunicator formed,
            OperationQueue queue,
            HostBackend host,
            Backend device,
            FailureState failures,
            Runnable unwatch,
            Runnable mark) {
        boolean mayFinish = takeIssuing(queue);
        mark.run();
        if (mayFinish && failures.current() == null) {
            drain(queue, device, failures);
        }
        if (mayFinish) {
            queue.endIssue();
        } else {
            failures.abort();
        }
        unwatch.run();
        boolean stopped = queue.stop(Deadlines.after(STOP_TIMEOUT));
        formed.membership().close();
        formed.device().ifPresent(ConnectedDevice::destroy);
        if (stopped) {
            host.close();
            formed.stagedDevice().ifPresent(StagedDevice::destroy);
            formed.engine().destroy();
        } else {
            LOG.warn(
                    "communicator={} rank={}: an operation did not end within {} s of close(); its memory is kept",
                    formed.id(),
                    formed.rank(),
                    STOP_TIMEOUT.toSeconds());
        }
        Failure failure = failures.current();
        if (failure != null && !failure.isTold() && failure.first() instanceof MismatchedCollectiveException) {
            throw failure.exception();
        }
    }

    /** Each operation is bounded by its time-out; what fails is found in its Work. An interrupt fails what is not over. */
    private static void drain(OperationQueue queue, Backend device, FailureState failures) {
        try {
            if (device != null) {
                device.drain();
            }
            queue.drain();
        } catch (InterruptedCommunicationException e) {
            failures.interrupted("close()");
        }
    }

    /** Waits until no other thread is issuing, for a moment that is long compared with issuing. */
    private static boolean takeIssuing(OperationQueue queue) {
        long deadline = Deadlines.after(Duration.ofSeconds(1));
        return IdleStrategy.await(queue::tryBeginIssue, deadline, 1_000, 1_000_000);
    }
}
