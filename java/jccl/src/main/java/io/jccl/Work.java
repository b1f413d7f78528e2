package io.jccl;

import io.jccl.runtime.OperationWork;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The handle of an operation that was issued. It keeps the buffers of the operation reachable until the operation is
 * done.
 *
 * <p>Issuing fixes the operation's place in the sequence and returns at once. The first thread that waits executes the
 * operation, together with earlier operations that are not done. If no thread waits, a thread of the communicator
 * executes the operation shortly after. Any thread may call any method, any number of times. A virtual thread that
 * waits leaves the operation to the communicator's thread and does not occupy its carrier.
 *
 * <p>An interrupt ends a wait. An operation that has not begun on this rank stays issued, and can be awaited again, by
 * any thread. An operation that has begun ends because the interrupt fails the communicator: it throws {@link
 * AbortedException}, which names this rank, on all ranks. It does not matter which thread executes the operation. An
 * operation on a device has begun when it is on its stream. A thread that waits for a later operation may execute
 * earlier ones, and an interrupt of this thread then ends the earlier ones. An interrupt of a waiting thread ends a
 * future only if the communicator fails because of it.
 *
 * <p>{@link Messages} describes how a message differs from other operations.
 */
public sealed interface Work permits OperationWork, MessageReceive {

    /**
     * Waits until the operation is done, or throws after the communicator's time-out.
     *
     * @throws CommunicationTimeoutException if it was not done in time; names the ranks that never entered it
     * @throws PeerFailedException if another rank ended or became unreachable
     * @throws MismatchedCollectiveException if ranks called different operations
     * @throws AbortedException if the communicator was aborted
     * @throws InterruptedCommunicationException within 100 ms after the calling thread was interrupted; its interrupt
     *     flag stays set
     * @throws JcclException after any other failure
     */
    void await();

    /**
     * Waits with the given time-out instead of the communicator's. An operation that is not done in time fails, and the
     * communicator fails with it, as with {@link #await()}: ranks in the middle of an operation cannot undo it.
     *
     * @param timeout how long to wait from now, at least a millisecond
     * @throws JcclException as {@link #await()}
     */
    void await(Duration timeout);

    /**
     * Returns true if the operation has ended, with success or without. Executes what can be executed without waiting
     * for other ranks, and never waits for them. If this is not called again soon, a thread of the communicator goes on
     * with the operation.
     */
    boolean isDone();

    /**
     * Returns a future that completes when the operation is done on this rank. If the operation fails, the future
     * completes with the exception that {@link #await()} throws. {@link Communicator} describes what completion says
     * about the other ranks.
     *
     * <p>Cancelling the future ends neither the operation nor other futures of it; {@link #cancel()} ends them.
     * Continuations that are not {@code Async} run on a thread of the communicator, or on a thread that waits for this
     * future, and must not wait for operations of the communicator.
     */
    CompletableFuture<Void> toFuture();

    /**
     * Gives up the operation if it is not over. The communicator fails with it, as with {@link Communicator#abort()},
     * because an operation of several ranks cannot end for one rank alone. Every operation that is not over, on any
     * rank, ends with an {@link AbortedException} that names this rank and this operation. Returns at once.
     *
     * @return true if the operation was not over yet; if it was over, the call has no effect
     */
    boolean cancel();

    /**
     * Returns how the operation was executed; for a group, how its last collective was executed.
     *
     * @throws IllegalStateException if the operation is not done, or has failed, or if it is a message
     */
    Execution execution();
}
