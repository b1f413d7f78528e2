package io.jccl;

import io.jccl.runtime.OperationWork;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * An operation that was issued. It keeps its buffers reachable until it is done.
 *
 * <p>Issuing fixes the operation's place in the sequence and returns at once. The first thread that waits executes the
 * operation, together with what was issued before it and is not done; what nobody waits for is executed by a thread
 * of the communicator shortly after. All methods may be called by any thread, any number of times. A virtual thread that
 * waits leaves the operation to the communicator's thread and does not occupy its carrier.
 *
 * <p>An interrupt ends a wait. An operation that has not begun on this rank stays issued, and may be awaited again, also by
 * other threads. An operation that has begun ends with the communicator: it fails with {@link AbortedException}, which names
 * this rank on all ranks. That holds for whichever thread runs the operation; one on a device has begun when it is on its
 * stream. A thread that waits for a later operation may run earlier ones, and its interrupt ends these. Futures are not
 * affected by interrupts of waiting threads, but by the end of the communicator.
 */
public sealed interface Work permits OperationWork {

    /**
     * Waits until the operation is done, or throws after the communicator's time-out.
     *
     * @throws CommunicationTimeoutException if it was not done in time; names the ranks that never entered it
     * @throws PeerFailedException if another rank died
     * @throws MismatchedCollectiveException if ranks called different operations
     * @throws AbortedException if the communicator was aborted
     * @throws InterruptedCommunicationException if the calling thread was interrupted, within 100 ms; its interrupt flag is
     *     set then
     * @throws JcclException if something else failed
     */
    void await();

    /**
     * Waits with a time-out of its own instead of the communicator's. An operation that is not done in time has failed, and
     * the communicator with it, just as with {@link #await()}: ranks that are part-way through cannot go back.
     *
     * @param timeout how long to wait from now, at least a millisecond
     * @throws JcclException as {@link #await()}
     */
    void await(Duration timeout);

    /** Whether the operation is over, with success or without. Never waits, and sees to it that the operation proceeds. */
    boolean isDone();

    /**
     * A future that completes when the operation is done on this rank; exceptionally with the exception that {@link #await()}
     * throws. {@link Communicator} says what that means for the other ranks.
     *
     * <p>Cancelling it has no effect on the operation, as it has none on other futures of the same; {@link #cancel()} has. Continuations that are not {@code Async} run on a thread of the
     * communicator and must not wait for its operations.
     */
    CompletableFuture<Void> toFuture();

    /**
     * Gives the operation up, if it is not over, and with it the communicator, just as {@link Communicator#abort()}: an operation
     * that others take part in cannot end for one rank alone. Every operation that is not over, on any rank, ends with an
     * {@link AbortedException} that names this rank and this operation. Returns at once.
     *
     * @return whether the operation was not over yet; if it was, nothing has happened
     */
    boolean cancel();

    /**
     * How the operation was executed; of a group, its last collective.
     *
     * @throws IllegalStateException if the operation is not done, or failed
     */
    Execution execution();
}
