package io.jccl.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.device.JCudaLibrary;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests every part of CUDA that can be missing, and a fake driver, each case in its own process. */
@Timeout(120)
class MissingPartsTest {

    private static final String NO_JAR = "JCuda's jar is missing: put org.jcuda:jcuda and org.jcuda:jcuda-natives"
            + " (classifier linux-x86_64) on the class path";
    private static final String NO_DRIVER =
            "NVIDIA's driver is missing (libcuda.so.1 is not found): run where a GPU and"
                    + " its driver are (in a container: pass them through)";

    @TempDir
    private Path folder;

    @Test
    void withoutTheJarEverythingElseWorksAndTheErrorNamesIt() throws Exception {
        assertThat(probe("jcuda-", Map.of()))
                .contains("remark " + NO_JAR)
                .noneMatch(line -> line.startsWith("missing JCuda"))
                .contains("buffer DeviceException A buffer of a device needs JCuda. " + NO_JAR)
                .contains("stream DeviceException A stream of a device needs JCuda. " + NO_JAR)
                .noneMatch(line -> line.startsWith("device"));
    }

    @Test
    void withoutTheNativesTheErrorNamesThem() throws Exception {
        assertThat(probe("jcuda-natives-", Map.of()))
                .anyMatch(line -> line.startsWith("remark JCuda's natives are missing or cannot be loaded (")
                        && line.contains("No resource found with name '/lib/libJCudaDriver-")
                        && line.endsWith(
                                "put org.jcuda:jcuda-natives (classifier linux-x86_64, the jar's version) on the"
                                        + " class path"))
                .anyMatch(line ->
                        line.startsWith("buffer DeviceException A buffer of a device needs JCuda. JCuda's natives"));
    }

    @Test
    void withoutTheDriverTheErrorNamesIt() throws Exception {
        assumeTrue(JCudaLibrary.state() == JCudaLibrary.State.NO_DRIVER, "this host has a driver");
        assertThat(probe("no such jar", Map.of()))
                .contains("remark " + NO_DRIVER)
                .contains("buffer DeviceException A buffer of a device needs JCuda. " + NO_DRIVER);
    }

    @Test
    void theDriversDevicesAreListedAndAdaptersWork() throws Exception {
        assertThat(probe("no such jar", fake("all")))
                .contains("device CudaDevice[ordinal=0, name=Fake GPU 0, sm=90, memoryBytes=151397597184,"
                        + " busId=0000:1b:00.0, uuid=GPU-00112233-4455-6677-8899-aabbccddeeff]")
                .contains("device CudaDevice[ordinal=1, name=Fake GPU 1, sm=91, memoryBytes=152471339008,"
                        + " busId=0000:1c:00.0, uuid=GPU-01122334-4556-6778-899a-abbccddeef00]")
                .contains("buffer IllegalArgumentException pointer=null: expected one from cudaMalloc or cuMemAlloc")
                .contains("stream DeviceStream[handle=0x0]")
                .noneMatch(line -> line.startsWith("remark"));
    }

    @Test
    void aDriverWithoutDevicesGivesItsReason() throws Exception {
        assertThat(probe("no such jar", fake("none")))
                .contains(
                        "remark CUDA cannot be used: cuInit: CUDA_ERROR_NO_DEVICE (CUDA_VISIBLE_DEVICES=0,1); nvidia-smi"
                                + " reports the driver's state")
                .noneMatch(line -> line.startsWith("device"));
    }

    @Test
    void oneDeviceThatFailsDoesNotHideTheOthers() throws Exception {
        assertThat(probe("no such jar", fake("broken")))
                .anyMatch(line -> line.startsWith("device CudaDevice[ordinal=0"))
                .noneMatch(line -> line.startsWith("device CudaDevice[ordinal=1"))
                .contains("remark device 1 cannot be used: cuDeviceGetPCIBusId: CUDA_ERROR_INVALID_DEVICE; nvidia-smi"
                        + " reports its state");
    }

    private static Map<String, String> fake(String part) {
        return Map.of(
                "LD_LIBRARY_PATH",
                System.getProperty("jccl.fake.cuda"),
                "FAKE_CUDA",
                part,
                "CUDA_VISIBLE_DEVICES",
                "0,1");
    }

    /** Runs {@link CudaProbe} without the jars whose names have a prefix, and returns the lines that it prints. */
    private List<String> probe(String withoutJars, Map<String, String> environment)
            throws IOException, InterruptedException {
        String classPath = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !Path.of(entry).getFileName().toString().startsWith(withoutJars))
                .collect(Collectors.joining(File.pathSeparator));
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djava.io.tmpdir=" + folder, // JCuda unpacks its natives there, or reuses those it finds there
                        "-cp",
                        classPath,
                        CudaProbe.class.getName())
                .redirectErrorStream(true);
        builder.environment().remove("CUDA_VISIBLE_DEVICES");
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(output).isZero();
            return output.lines().toList();
        } finally {
            process.destroyForcibly();
        }
    }
}
