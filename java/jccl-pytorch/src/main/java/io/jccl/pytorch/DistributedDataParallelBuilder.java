package io.jccl.pytorch;

import io.jccl.Communicator;
import org.bytedeco.pytorch.Module;

/** Options of a {@link DistributedDataParallel}, which must be the same on all ranks. */
public final class DistributedDataParallelBuilder {

    private static final long BUCKET_BYTES = 25 << 20;

    final Communicator comm;
    final Module module;
    long bucketBytes = BUCKET_BYTES;
    boolean findUnusedParameters;
    boolean broadcastBuffers = true;
    CommHook commHook = CommHook.AVERAGE;

    DistributedDataParallelBuilder(Communicator comm, Module module) {
        if (comm == null || module == null) {
            throw new IllegalArgumentException(
                    "comm=" + comm + " module=" + module + ": expected a communicator and a module");
        }
        this.comm = comm;
        this.module = module;
    }

    /**
     * Sets the size from which a bucket takes no further gradients. Larger buckets need fewer operations, smaller ones
     * begin earlier.
     *
     * @param bucketBytes at least 1; 25 MiB unless set
     */
    public DistributedDataParallelBuilder bucketBytes(long bucketBytes) {
        if (bucketBytes < 1) {
            throw new IllegalArgumentException(
                    "bucketBytes=" + bucketBytes + ": expected a positive size, for example " + BUCKET_BYTES);
        }
        this.bucketBytes = bucketBytes;
        return this;
    }

    /**
     * Sets whether a step may leave out parameters, also other ones on each rank. If so, the ranks agree in each step
     * on the parameters that any rank has used, which takes one more small operation. False unless set.
     */
    public DistributedDataParallelBuilder findUnusedParameters(boolean findUnusedParameters) {
        this.findUnusedParameters = findUnusedParameters;
        return this;
    }

    /**
     * Sets whether each step copies the buffers of rank 0, such as running means and variances of batch normalization,
     * to all ranks. If not, each rank has those of its own samples. True unless set.
     */
    public DistributedDataParallelBuilder broadcastBuffers(boolean broadcastBuffers) {
        this.broadcastBuffers = broadcastBuffers;
        return this;
    }

    /** Sets how the gradients of a bucket are averaged; {@link CommHook#AVERAGE} unless set. */
    public DistributedDataParallelBuilder commHook(CommHook commHook) {
        if (commHook == null) {
            throw new IllegalArgumentException("commHook=null: expected a hook, for example CommHook.AVERAGE");
        }
        this.commHook = commHook;
        return this;
    }

    /**
     * Creates the {@link DistributedDataParallel}, and copies the parameters and buffers of rank 0 to all ranks. All
     * ranks must call this. If the environment names no number of threads, divides the cores of this host among its
     * ranks for libtorch, and logs it.
     *
     * @throws IllegalArgumentException on all ranks if parameters, buffers or options differ, with the name of the
     *     first that does; on this rank only, if the module has no trainable parameters, or parameters that are sparse,
     *     complex or on another device
     */
    public DistributedDataParallel build() {
        return new DistributedDataParallel(this);
    }
}
