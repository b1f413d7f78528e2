package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.ErrorFeedback;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Hooks that compress gradients. What a rank loses by rounding a gradient is added to its next gradient, so nothing is lost
 * over time. A hook keeps these errors: create one for each {@link DistributedDataParallel}.
 */
public final class CommHooks {

    private static final long PART_BYTES = 1 << 30; // an NIO buffer holds less than 2 GiB

    private CommHooks() {}

    /**
     * Averages gradients in half precision: halves the bytes that ranks exchange, also within a host. Gradients of types
     * other than Float and Double are averaged as they are. The averages are rounded as well, by errors that no rank keeps.
     *
     * @param type Half or BFloat16. Half has a narrow range: gradients from 65520 on become infinite
     * @throws IllegalArgumentException if the type is another one
     */
    public static CommHook halfPrecision(ScalarType type) {
        if (type == null || type.intern() != ScalarType.Half && type.intern() != ScalarType.BFloat16) {
            throw new IllegalArgumentException("type=" + type + ": expected Half or BFloat16");
        }
        Map<Integer, HalfBucket> halves = new HashMap<>();
        return (comm, bucket) -> WireFormat.supports(bucket.type())
                ? halves.computeIfAbsent(bucket.index(), index -> new HalfBucket(bucket, type))
                        .reduce(comm, bucket)
                : CommHook.AVERAGE.reduce(comm, bucket);
    }

    /**
     * Averages gradients in a format that narrows them between hosts. Each rank rounds its gradients to the format first, on
     * one host, too. Gradients of types other than Float and Double are averaged as they are.
     *
     * @throws IllegalArgumentException if the format is {@link WireFormat#EXACT}, which rounds nothing
     */
    public static CommHook wireFormat(WireFormat format) {
        if (format == null || format.encoding() == WireFormat.Encoding.EXACT) {
            throw new IllegalArgumentException("format=" + format
                    + ": expected a format that rounds, for example BFLOAT16; CommHook.AVERAGE is exact");
        }
        Map<Integer, List<ErrorFeedback>> errors = new HashMap<>();
        return (comm, bucket) -> {
            if (!WireFormat.supports(bucket.type())) {
                return CommHook.AVERAGE.reduce(comm, bucket);
            }
            compensate(bucket, format, errors.computeIfAbsent(bucket.index(), index -> new ArrayList<>()));
            return comm.allReduce(bucket.buffer(), ReduceOp.AVG, format)::await;
        };
    }

    private static void compensate(GradientBucket bucket, WireFormat format, List<ErrorFeedback> errors) {
        HostBuffer memory = bucket.memory()
                .orElseThrow(() -> new IllegalArgumentException("format=" + format + " bucket=" + bucket.index()
                        + ": operations on memory of GPUs are exact; use halfPrecision, or leave the hook out"));
        for (long at = 0; at < memory.bytes(); at += PART_BYTES) {
            int part = (int) (at / PART_BYTES);
            if (part == errors.size()) {
                errors.add(new ErrorFeedback(format));
            }
            int count = (int)
                    (Math.min(PART_BYTES, memory.bytes() - at) / bucket.type().bytes());
            if (bucket.type() == DataType.FLOAT32) {
                errors.get(part).compensate(memory.asFloatBuffer(at, count));
            } else {
                errors.get(part).compensate(memory.asDoubleBuffer(at, count));
            }
        }
    }

    /** The memory in which the gradients of a bucket travel in half precision. */
    private static final class HalfBucket {

        private final Tensor gradients;
        private final BucketMemory memory; // never freed
        private final Tensor narrow;
        private final Tensor errors;

        HalfBucket(GradientBucket bucket, ScalarType type) {
            this.gradients = bucket.tensor();
            this.memory = BucketMemory.allocate(
                    gradients.numel() * Tensors.arithmeticType("type", type).bytes(), type, gradients);
            this.narrow = memory.tensor;
            this.errors = Tensors.keep(torch.zeros_like(gradients));
        }

        CommHook.Completion reduce(Communicator comm, GradientBucket bucket) {
            Tensors.inScope(() -> {
                gradients.div_(new Scalar((double) comm.size())).add_(errors); // a sum of halves could overflow
                narrow.copy_(gradients);
                errors.copy_(gradients).sub_(narrow.to(errors.scalar_type()));
                DoubleOptional none = new DoubleOptional(0);
                errors.nan_to_num_(none, none, none); // infinite gradients have no error
            });
            // The operation keeps the memory, which libtorch could give to work on another stream.
            Work work =
                    bucket.on(comm).allReduce(Tensors.buffer(Tensors.reference(narrow), memory.type()), ReduceOp.SUM);
            return () -> {
                work.await();
                Tensors.inScope(() -> gradients.copy_(narrow));
            };
        }
    }
}
