package io.jccl.pytorch;

import io.jccl.Communicator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.Tensor;

/**
 * The parameters and buffers of a module in the order of {@code named_parameters()} and {@code named_buffers()}, which
 * is the same in every process. A tensor that several submodules share is listed once.
 */
final class ModuleState {

    /** A parameter or a buffer. */
    record Entry(String name, Tensor tensor) {}

    private static final int PART_BYTES = 1 << 30; // of a checksum: an NIO buffer holds less than 2 GiB

    private final List<Entry> parameters;
    private final List<Entry> buffers;

    private ModuleState(List<Entry> parameters, List<Entry> buffers) {
        this.parameters = parameters;
        this.buffers = buffers;
    }

    /**
     * Returns the parameters and buffers of this rank's module, which are the same on all ranks.
     *
     * @param options further text that must be the same
     * @throws IllegalArgumentException on all ranks, if names, types, shapes, strides or the text differ, or if the module
     *     of a rank cannot be trained; the message names the first difference
     */
    static ModuleState of(Module module, Communicator comm, String options) {
        List<String> lines = new ArrayList<>();
        ModuleState state = null;
        IllegalArgumentException problem = null;
        try {
            state = read(module);
            lines.add(options);
            state.all().forEach(entry -> lines.add(describe(entry)));
        } catch (IllegalArgumentException e) {
            problem = e;
            lines.add("module refused (" + e.toString().lines().findFirst().orElse("") + ")");
        }
        requireSame(comm, lines, "build the same module with the same options on every rank");
        if (state == null) {
            throw problem;
        }
        return state;
    }

    private static ModuleState read(Module module) {
        Set<Long> seen = new HashSet<>();
        List<Entry> parameters = new ArrayList<>();
        List<Entry> buffers = new ArrayList<>();
        Tensors.inScope(() -> {
            addAll("parameters", module.named_parameters(), seen, parameters);
            addAll("buffers", module.named_buffers(), seen, buffers);
        });
        List<Entry> trainable = trainable(parameters);
        trainable.forEach(
                entry -> Tensors.arithmeticType(entry.name(), entry.tensor().scalar_type()));
        if (trainable.isEmpty()) {
            throw new IllegalArgumentException("module.parameters=" + parameters.size()
                    + ": expected at least one that requires a gradient; register submodules with register_module");
        }
        return new ModuleState(List.copyOf(parameters), List.copyOf(buffers));
    }

    private static void addAll(String kind, StringTensorDict tensors, Set<Long> seen, List<Entry> entries) {
        for (long i = 0; i < tensors.size(); i++) {
            String name = kind + "." + tensors.get(i).key().getString();
            Tensor tensor = tensors.get(i).value();
            if (!tensor.defined()) {
                continue; // modules register undefined tensors for what they were built without, such as statistics
            }
            Tensors.requireDense(name, tensor);
            Tensors.movedType(name, tensor.scalar_type());
            if (seen.add(tensor.unsafeGetTensorImpl().address())) {
                entries.add(new Entry(name, Tensors.reference(tensor)));
            }
        }
    }

    List<Entry> buffers() {
        return buffers;
    }

    /** Returns the parameters that require a gradient, at least one. */
    List<Entry> trainable() {
        return trainable(parameters);
    }

    private static List<Entry> trainable(List<Entry> parameters) {
        return parameters.stream()
                .filter(entry -> entry.tensor().requires_grad())
                .toList();
    }

    private List<Entry> all() {
        return Stream.concat(parameters.stream(), buffers.stream()).toList();
    }

    /** Copies the parameters and buffers of rank 0 to all ranks. */
    void broadcast(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        List<TensorWork> works = new ArrayList<>();
        all().forEach(entry -> works.add(distributed.broadcast(entry.tensor(), 0)));
        works.forEach(TensorWork::await);
    }

    /** Requires that all parameters and buffers have the same values. If not, all ranks throw the same exception. */
    void requireSameValues(Communicator comm, boolean withBuffers) {
        requireSame(
                comm,
                (withBuffers ? all() : parameters)
                        .stream()
                                .map(entry -> entry.name() + " checksum " + Long.toHexString(checksum(entry.tensor())))
                                .toList(),
                "change parameters on all ranks alike, between synchronize() and the next forward pass");
    }

    private static String describe(Entry entry) {
        Tensor tensor = entry.tensor();
        return entry.name() + " " + tensor.scalar_type().intern() + Arrays.toString(Tensors.sizes(tensor))
                + (tensor.is_contiguous() ? "" : " strides " + Arrays.toString(Tensors.strides(tensor)))
                + (tensor.requires_grad() ? " requires_grad" : "");
    }

    private static long checksum(Tensor tensor) {
        CRC32C checksum = new CRC32C();
        Tensors.inScope(() -> {
            Tensor contiguous = tensor.detach().cpu().contiguous();
            long bytes = Tensors.bytes(contiguous);
            for (long at = 0; at < bytes; at += PART_BYTES) {
                BytePointer part = new BytePointer(contiguous.data_ptr()).position(at);
                checksum.update(
                        part.capacity(at + Math.min(PART_BYTES, bytes - at)).asBuffer());
            }
        });
        return checksum.getValue();
    }

    private static void requireSame(Communicator comm, List<String> lines, String remedy) {
        List<List<String>> all = comm.allGatherBytes(String.join("\n", lines).getBytes(StandardCharsets.UTF_8)).stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8).lines().toList())
                .toList();
        for (int rank = 1; rank < all.size(); rank++) {
            for (int i = 0; i < Math.max(all.get(rank).size(), all.get(0).size()); i++) {
                String here = i < all.get(rank).size() ? all.get(rank).get(i) : "none";
                String there = i < all.get(0).size() ? all.get(0).get(i) : "none";
                if (!here.equals(there)) {
                    throw new IllegalArgumentException(
                            "rank=" + rank + " " + here + ": expected " + there + ", as on rank 0; " + remedy);
                }
            }
        }
    }
}
