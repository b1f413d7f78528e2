package io.jccl.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.nn.Parameter;
import ai.djl.training.Trainer;
import ai.djl.util.Pair;
import io.jccl.Communicator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.zip.CRC32C;

/**
 * The parameters of a trainer's block in the order of {@code Block.getParameters()}, which is the same in every
 * process. An array that several parameters share is listed once.
 */
final class ParameterTable {

    /** A parameter with the name that its block gives it. */
    record Entry(String name, Parameter parameter) {

        NDArray array() {
            return parameter.getArray();
        }

        TensorView view() {
            return TensorView.of(name, array());
        }
    }

    private final List<Entry> entries = new ArrayList<>();

    /**
     * @throws IllegalArgumentException if the trainer uses several devices, or another device than that of its
     *     parameters
     */
    ParameterTable(Trainer trainer) {
        Device[] devices = trainer.getDevices();
        if (devices.length != 1) {
            throw new IllegalArgumentException("devices.length=" + devices.length
                    + ": expected one device for each rank; set it with optDevices(new Device[] {...})");
        }
        Set<NDArray> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Pair<String, Parameter> pair : trainer.getModel().getBlock().getParameters()) {
            Entry entry = new Entry(pair.getKey(), pair.getValue());
            if (!entry.parameter().isInitialized() || seen.add(entry.array())) {
                entries.add(entry);
            }
        }
        for (Entry entry : entries) {
            if (entry.parameter().isInitialized() && !entry.array().getDevice().equals(devices[0])) {
                throw new IllegalArgumentException(
                        entry.name() + ".device=" + entry.array().getDevice() + ": expected " + devices[0]
                                + ", the trainer's device; make the model there with Model.newInstance(name, device)");
            }
        }
    }

    /** Returns the parameters that have an array. */
    List<Entry> initialized() {
        return select(Parameter::isInitialized);
    }

    /** Returns the parameters whose gradients a step applies. */
    List<Entry> trainable() {
        return select(parameter -> parameter.isInitialized() && parameter.requiresGradient());
    }

    /** Returns the running means and variances, which the forward pass of a batch normalization changes. */
    List<Entry> statistics() {
        return select(parameter -> parameter.isInitialized()
                && (parameter.getType() == Parameter.Type.RUNNING_MEAN
                        || parameter.getType() == Parameter.Type.RUNNING_VAR));
    }

    private List<Entry> select(Predicate<Parameter> kind) {
        return entries.stream().filter(entry -> kind.test(entry.parameter())).toList();
    }

    /** Requires that all ranks have the same parameters, initialised. If not, all ranks throw the same exception. */
    void requireSameShapes(Communicator comm) {
        requireSame(
                comm,
                ParameterTable::describe,
                "build the same block on every rank, and call trainer.initialize first");
    }

    /** Requires that all parameters have the same values on all ranks. If not, all ranks throw the same exception. */
    void requireSameValues(Communicator comm) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            requireSame(
                    comm,
                    ParameterTable::checksum,
                    "call DataParallel.broadcast, and change parameters on all ranks alike");
        }
    }

    private static String describe(Entry entry) {
        Parameter parameter = entry.parameter();
        return entry.name()
                + (parameter.isInitialized()
                        ? " " + entry.array().getShape() + " " + entry.array().getDataType()
                        : " not initialized")
                + (parameter.requiresGradient() ? "" : " without gradient");
    }

    private static String checksum(Entry entry) {
        CRC32C checksum = new CRC32C();
        if (entry.parameter().isInitialized()) {
            checksum.update(entry.view().bytes());
        }
        return entry.name() + " checksum " + Long.toHexString(checksum.getValue());
    }

    private void requireSame(Communicator comm, Function<Entry, String> describe, String remedy) {
        List<String> mine = entries.stream().map(describe).toList();
        List<List<String>> all = comm.allGatherObject(String.join("\n", mine).getBytes(StandardCharsets.UTF_8)).stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8).lines().toList())
                .toList();
        for (int rank = 1; rank < all.size(); rank++) {
            requireSame(rank, all.get(rank), all.get(0), remedy);
        }
        for (String line : all.get(0)) {
            if (line.contains(" not initialized")) {
                throw new IllegalArgumentException(line + ": expected an initialized parameter; " + remedy);
            }
        }
    }

    private static void requireSame(int rank, List<String> actual, List<String> expected, String remedy) {
        for (int i = 0; i < Math.max(actual.size(), expected.size()); i++) {
            String here = i < actual.size() ? actual.get(i) : "none";
            String there = i < expected.size() ? expected.get(i) : "none";
            if (!here.equals(there)) {
                throw new IllegalArgumentException("rank=" + rank + " parameters[" + i + "]=" + here + ": expected "
                        + there + ", as on rank 0; " + remedy);
            }
        }
    }
}
