package io.jccl.init;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.tuning.ChoiceTable;
import java.util.Optional;

/**
 * A communicator's part on a GPU.
 *
 * @param ordinal the device's number in this process
 * @param engine connected and ready for operations
 * @param staging what connects it to ranks whose memory is not reached, if there are any in this communicator
 * @param choices how operations on device memory are executed
 * @param onRegistered how they are while buffers are registered; empty where that makes no difference
 */
public record ConnectedDevice(
        int ordinal,
        DeviceEngine engine,
        Optional<NativeEngine> staging,
        Choices choices,
        Optional<Choices> onRegistered) {

    /**
     * How each operation is executed.
     *
     * @param withoutNvls for those that the switch between the GPUs does not reduce
     */
    public record Choices(ChoiceTable all, ChoiceTable withoutNvls) {}

    /** Whether ranks work on all buffers in place, because they are threads of one process. */
    public boolean isInPlace() {
        return staging.isEmpty() && onRegistered.isEmpty();
    }

    /** Ends every wait with {@code code}; returns at once. */
    public void abort(int code) {
        engine.abort(code);
        staging.ifPresent(it -> it.abort(code));
    }

    /** The text of the last error. */
    public String lastError() {
        String beside = staging.map(NativeEngine::lastError).orElse("");
        return beside.isEmpty() ? engine.lastError() : engine.lastError() + "; " + beside;
    }

    /** Ends what is in flight and frees; what the kernels use goes last. */
    public void destroy() {
        engine.destroy();
        staging.ifPresent(NativeEngine::destroy);
    }
}
