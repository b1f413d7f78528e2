package io.jccl.pytorch;

import io.jccl.Work;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The handle of an operation on tensors. It keeps the memory of the tensors until the operation is done, even if the
 * application frees them or their {@code PointerScope} ends.
 *
 * <p>Until {@link #await()} has returned, do not read or write tensors in host memory. One that is not contiguous receives
 * its results only in {@link #await()}, or before the future completes. Tensors on a GPU may be used at once by work on the
 * same stream. Any thread may call any method.
 */
public final class TensorWork {

    private final Work work;
    private List<Operand> operands; // guarded by this; empty after the operation has succeeded

    TensorWork(Work work, Operand... operands) {
        this.work = work;
        this.operands = List.of(operands);
        this.operands.forEach(Operand::issued);
    }

    /**
     * Waits until the operation is done and the tensors have the results.
     *
     * @throws io.jccl.JcclException if the operation fails, as {@link Work#await()}
     */
    public void await() {
        work.await();
        complete();
    }

    /** Returns true if the operation has ended, with success or without. Never waits. */
    public boolean isDone() {
        return work.isDone();
    }

    /**
     * Returns a future that completes when the tensors have the results. If the operation fails, the future completes
     * with the exception that {@link #await()} throws.
     */
    public CompletableFuture<Void> toFuture() {
        return work.toFuture().thenRun(this::complete);
    }

    /** Returns the handle of the operation on the memory of the tensors. */
    public Work work() {
        return work;
    }

    private synchronized void complete() {
        operands.forEach(Operand::complete);
        operands = List.of();
    }
}
