package io.jccl.topology;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.device.GpuInventory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** A fake of NVML, NVIDIA's management library ({@code native/test/nvml/fake_nvml.cc}), which answers by a script. */
final class FakeNvml {

    private static final Path LIBRARY = Path.of(System.getProperty("jccl.fake.nvml"));

    private FakeNvml() {}

    /**
     * Loads a copy of the fake library through the setting {@code JCCL_NVML_LIBRARY}, and returns what it answers by
     * the script.
     */
    static GpuInventory emulate(Path folder, String script) {
        try {
            Path copy = Files.createTempFile(folder, "libnvml", ".so");
            Files.write(copy, Files.readAllBytes(LIBRARY));
            Files.writeString(Path.of(copy + ".txt"), script);
            return ask(copy.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static GpuInventory ask(String library) {
        return ManagementLibrary.ask(
                Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of("JCCL_NVML_LIBRARY", library)));
    }
}
