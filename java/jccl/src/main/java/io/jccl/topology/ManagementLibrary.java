package io.jccl.topology;

import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import io.jccl.device.GpuInventory;
import io.jccl.nativelib.NativeLoadException;
import io.jccl.nativelib.NativeNvml;
import java.util.List;

/** Asks NVIDIA's management library for the GPUs of this host. */
public final class ManagementLibrary {

    /** Name of the library in {@code origin}. */
    static final String NAME = "nvml";

    private static final String USUAL = "libnvidia-ml.so.1";

    private ManagementLibrary() {}

    /** Returns the GPUs that the library named by the settings reports; never fails. */
    public static GpuInventory ask(Settings settings) {
        String library = settings.get(TopologySettings.NVML_LIBRARY);
        return switch (library) {
            case "off" -> GpuInventory.absent(NAME, List.of("JCCL_NVML_LIBRARY=off"));
            case "auto" -> ask(USUAL);
            default -> ask(library);
        };
    }

    private static GpuInventory ask(String library) {
        try {
            NativeNvml.Answer answer = NativeNvml.ask(library);
            return answer.numbers() == null
                    ? GpuInventory.absent(NAME, answer.remarks())
                    : GpuInventory.decode(NAME, answer.numbers(), answer.remarks());
        } catch (NativeLoadException e) {
            return GpuInventory.absent(NAME, List.of("the native library cannot be loaded: " + e.getMessage()));
        }
    }
}
