package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.ReduceOp;

/**
 * Averages the gradients of a bucket over all ranks: {@code builder.commHook(hook)}. {@link CommHooks} has hooks that
 * compress gradients.
 *
 * <pre>{@code
 * CommHook average = (comm, bucket) -> bucket.on(comm).allReduce(bucket.buffer(), ReduceOp.AVG)::await;
 * }</pre>
 */
@FunctionalInterface
public interface CommHook {

    /** Averages exactly, with one all-reduce in place. */
    CommHook AVERAGE = (comm, bucket) -> bucket.on(comm).allReduce(bucket.buffer(), ReduceOp.AVG)::await;

    /**
     * Issues the operations of a bucket and returns at once, so that the backward pass continues meanwhile. Every rank
     * calls this for the same buckets in the same order, and must issue the same operations.
     *
     * <p>Called by the thread of the backward pass, which can be one of libtorch's, or by {@link
     * DistributedDataParallel#synchronize()}. Autograd is off. If this throws, the communicator is aborted, because the
     * ranks may have issued different operations; {@code synchronize()} then throws the exception.
     *
     * @param comm the communicator of the ranks that train
     * @param bucket this rank's gradients, which the results replace
     */
    Completion reduce(Communicator comm, GradientBucket bucket);

    /** The end of a bucket's reduction, whose operations were issued before. */
    @FunctionalInterface
    interface Completion {

        /** Waits until the bucket has the averages. Called by {@code synchronize()}. */
        void await();
    }
}
