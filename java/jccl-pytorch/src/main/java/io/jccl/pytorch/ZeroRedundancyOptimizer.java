package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.Group;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * Divides the state of an optimizer among the ranks, as {@code torch.distributed.optim.ZeroRedundancyOptimizer} (ZeRO, stage
 * 1). Each rank updates its share of the parameters, and sends them to the other ranks.
 *
 * <pre>{@code
 * ZeroRedundancyOptimizer optimizer = ZeroRedundancyOptimizer.over(
 *         comm, module.parameters(), mine -> new Adam(mine, new AdamOptions(1e-3)));
 * }</pre>
 *
 * <p>The parameters after a step are those of the optimizer alone, bit for bit, because optimizers such as SGD and Adam
 * update each element by itself. All ranks need the same gradients: call {@link DistributedDataParallel#synchronize()} before
 * {@link #step()}.
 *
 * <p>A rank that dies takes its share of the state with it. Continue from a checkpoint then; {@link
 * DistributedDataParallel#recover} cannot restore the state.
 */
public final class ZeroRedundancyOptimizer {

    private final Communicator comm;
    private final List<Tensor> parameters = new ArrayList<>();
    private final int[] owners; // the rank that updates each parameter
    private final @Nullable Optimizer optimizer; // null if there are fewer parameters than ranks, and none for this one

    private ZeroRedundancyOptimizer(
            Communicator comm, TensorVector parameters, Function<TensorVector, ? extends Optimizer> optimizer) {
        this.comm = comm;
        Set<Long> seen = new HashSet<>(); // submodules can share a parameter
        for (long i = 0; i < parameters.size(); i++) {
            String name = "parameters[" + i + "]";
            Tensors.requireDense(name, parameters.get(i));
            Tensors.movedType(name, parameters.get(i).scalar_type());
            if (seen.add(parameters.get(i).unsafeGetTensorImpl().address())) {
                this.parameters.add(Tensors.reference(parameters.get(i)));
            }
        }
        this.owners = owners(this.parameters, comm.size());
        Tensor[] mine = IntStream.range(0, owners.length)
                .filter(i -> owners[i] == comm.rank())
                .mapToObj(this.parameters::get)
                .toArray(Tensor[]::new);
        this.optimizer = mine.length == 0 ? null : Tensors.keep(optimizer.apply(new TensorVector(mine)));
    }

    /**
     * Creates the optimizer of this rank's share. All ranks must call this with the same parameters.
     *
     * @param parameters at least one, all in host memory or all on one GPU
     * @param optimizer creates an optimizer of the parameters that it gets; not called on a rank without a share
     */
    public static ZeroRedundancyOptimizer over(
            Communicator comm, TensorVector parameters, Function<TensorVector, ? extends Optimizer> optimizer) {
        if (comm == null || parameters == null || optimizer == null) {
            throw new IllegalArgumentException("comm=" + comm + " parameters=" + parameters + " optimizer=" + optimizer
                    + ": expected a communicator, the module's parameters, and a function that creates an optimizer");
        }
        if (parameters.size() == 0) {
            throw new IllegalArgumentException("parameters.size=0: expected at least one parameter");
        }
        return new ZeroRedundancyOptimizer(comm, parameters, optimizer);
    }

    /** Gives each parameter, the largest first, to the rank with the fewest elements. */
    static int[] owners(List<Tensor> parameters, int ranks) {
        long[] sizes = parameters.stream().mapToLong(Tensor::numel).toArray();
        int[] owners = new int[sizes.length];
        long[] elements = new long[ranks];
        IntStream.range(0, sizes.length)
                .boxed()
                .sorted(Comparator.comparingLong(i -> -sizes[i]))
                .forEach(i -> {
                    int least = 0;
                    for (int rank = 1; rank < ranks; rank++) {
                        if (elements[rank] < elements[least]) {
                            least = rank;
                        }
                    }
                    owners[i] = least;
                    elements[least] += sizes[i];
                });
        return owners;
    }

    /**
     * Updates the parameters on all ranks. All ranks must call this. Returns when this rank has all parameters.
     *
     * @throws io.jccl.JcclException if the communicator fails; some parameters may be updated then
     */
    public void step() {
        if (optimizer != null) {
            Tensors.inScope(optimizer::step);
        }
        List<Operand> operands = new ArrayList<>();
        for (Tensor parameter : parameters) {
            operands.add(Operand.movedInto("parameter", parameter));
        }
        Consumer<Group> broadcasts = group -> {
            for (int i = 0; i < owners.length; i++) {
                group.broadcast(operands.get(i).buffer(), owners[i]);
            }
        };
        GpuTensors gpus = GpuTensors.current();
        Tensor first = parameters.get(0);
        Work work = gpus.isOnGpu(first) ? comm.on(gpus.stream(first)).group(broadcasts) : comm.group(broadcasts);
        new TensorWork(work, operands.toArray(Operand[]::new)).await();
    }

    /** Makes the gradients of all parameters undefined, as {@code Optimizer.zero_grad()}. */
    public void zero_grad() {
        zero_grad(true);
    }

    /**
     * Clears the gradients of all parameters.
     *
     * @param setToNone true to make them undefined, false to fill them with zeros
     */
    public void zero_grad(boolean setToNone) {
        Tensors.withoutGradient(() -> {
            for (Tensor parameter : parameters) {
                Tensor gradient = parameter.mutable_grad();
                if (setToNone) {
                    gradient.put(new Tensor());
                } else if (gradient.defined()) {
                    gradient.zero_();
                }
            }
        });
    }

    /**
     * Returns the optimizer of this rank's share, for instance to change its learning rate or to save its state; null if
     * there are fewer parameters than ranks and this rank has none.
     */
    public @Nullable Optimizer optimizer() {
        return optimizer;
    }
}
