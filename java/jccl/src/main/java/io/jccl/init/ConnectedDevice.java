package io.jccl.init;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.WindowSharing;
import io.jccl.tuning.ChoiceTable;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * A communicator's part on a GPU whose kernels execute operations.
 *
 * @param ordinal the device's number in this process
 * @param engine the engine on the GPU, connected and ready for operations
 * @param staging the host's engine for connections between GPUs that do not reach each other's memory; empty if the
 *     communicator has none
 * @param choices how operations on device memory are executed
 * @param isInPlace true if ranks work on all buffers in place, because they are threads of one process
 * @param onRegistered how operations on registered buffers are executed; empty if registration makes no difference
 * @param windowSharings what parts do with symmetric memory
 */
public record ConnectedDevice(
        int ordinal,
        DeviceEngine engine,
        Optional<NativeEngine> staging,
        Choices choices,
        boolean isInPlace,
        Optional<Choices> onRegistered,
        List<WindowSharing> windowSharings) {

    /**
     * Tables of how each operation is executed.
     *
     * @param all for operations that all algorithms can execute
     * @param unconditional for other operations; without the algorithms that have a condition
     * @param condition true for an operation, packed as for native code, that all algorithms can execute if the ranks'
     *     counts are equal
     */
    public record Choices(ChoiceTable all, ChoiceTable unconditional, IntPredicate condition) {

        /** Returns the tables of algorithms without conditions. */
        static Choices unconditional(ChoiceTable all) {
            return new Choices(all, all, operation -> true);
        }

        /** Returns true if an algorithm has a condition. */
        public boolean areConditional() {
            return all != unconditional;
        }
    }

    /** Ends every wait with {@code code}; returns at once. */
    public void abort(int code) {
        engine.abort(code);
        staging.ifPresent(it -> it.abort(code));
    }

    /** Returns the text of the GPU engine's last error, followed by that of the host's engine if it has one. */
    public String lastError() {
        String onHost = staging.map(NativeEngine::lastError).orElse("");
        return onHost.isEmpty() ? engine.lastError() : engine.lastError() + "; " + onHost;
    }

    /** Ends operations in flight and frees everything. The staging engine is freed last, as kernels use its memory. */
    public void destroy() {
        engine.destroy();
        staging.ifPresent(NativeEngine::destroy);
    }
}
