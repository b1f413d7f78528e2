package io.jccl.runtime;

import io.jccl.InterruptedCommunicationException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.init.ConnectedDevice;
import io.jccl.init.InitializedCommunicator;
import io.jccl.init.StagedDevice;
import io.jccl.internal.RecordMethods;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The orderly end of a communicator, in bounded time whatever state it is in. */
final class Closing {

    private static final Logger LOG = LoggerFactory.getLogger(Closing.class);
    private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);

    private Closing() {}

    /**
     * Finishes what was issued, reports to the other ranks, and frees everything; then throws, if ranks turn out to have
     * called different operations and no call of this rank has said so.
     *
     * @param device for memory of this rank's device, or null
     * @param unwatch called when nothing is waited for any more
     * @param markClosed called when no operation may be issued any more
     */
    static void close(
            InitializedCommunicator initialized,
            OperationQueue queue,
            HostBackend host,
            Backend device,
            FailureState failures,
            Runnable unwatch,
            Runnable markClosed) {
        initialized.status().closing();
        boolean mayFinish = takeIssuing(queue);
        markClosed.run();
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
        initialized.membership().close();
        initialized.status().end();
        initialized.device().ifPresent(ConnectedDevice::destroy);
        queue.events().close();
        if (stopped) {
            host.close();
            initialized.stagedDevice().ifPresent(StagedDevice::destroy);
            initialized.engine().destroy();
        } else {
            LOG.warn(
                    "communicator={} rank={}: an operation did not end within {} s of close(); its memory is kept",
                    initialized.id(),
                    initialized.rank(),
                    STOP_TIMEOUT.toSeconds());
        }
        if (Watchdog.SHARED.isIdle()) {
            RecordMethods.forgetTypes(); // no class loader is to be kept by what closes last
        }
        Failure failure = failures.current();
        if (failure != null && !failure.isThrown() && failure.first() instanceof MismatchedCollectiveException) {
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
