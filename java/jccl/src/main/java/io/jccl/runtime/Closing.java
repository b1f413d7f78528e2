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

/** Closes a communicator in order, and within a limited time whatever its state. */
final class Closing {

    private static final Logger LOG = LoggerFactory.getLogger(Closing.class);
    private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);

    private Closing() {}

    /**
     * Finishes issued operations, tells the other ranks, and frees everything. Then throws if the ranks have called
     * different operations and no call of this rank has thrown for that reason.
     *
     * @param device backend for device memory, or null
     * @param unwatch is called when no operation is waited for any more
     * @param markClosed is called when no operation may be issued any more
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
            failures.abort("close() was called while another thread issues an operation");
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
            initialized.host().engine().destroy();
        } else {
            LOG.warn(
                    "communicator={} rank={}: an operation did not end within {} s of close(); its memory is kept",
                    initialized.id(),
                    initialized.rank(),
                    STOP_TIMEOUT.toSeconds());
        }
        if (Watchdog.SHARED.isIdle()) {
            RecordMethods.forgetTypes(); // so that no class loader is kept after the last communicator
        }
        Failure failure = failures.current();
        if (failure != null && !failure.isThrown() && failure.first() instanceof MismatchedCollectiveException) {
            throw failure.exception();
        }
    }

    /**
     * Waits for all operations, each of which ends by its time-out at the latest. A failure is reported by an
     * operation's Work. An interrupt fails the operations that are not over.
     */
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

    /**
     * Takes the right to issue; returns true on success. Waits up to a second for a thread that is issuing; issuing
     * takes much less time.
     */
    private static boolean takeIssuing(OperationQueue queue) {
        long deadline = Deadlines.after(Duration.ofSeconds(1));
        return IdleStrategy.await(queue::tryBeginIssue, deadline, 1_000, 1_000_000);
    }
}
