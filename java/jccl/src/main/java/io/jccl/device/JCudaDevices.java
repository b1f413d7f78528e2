package io.jccl.device;

import io.jccl.DeviceException;
import io.jccl.internal.Causes;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntSupplier;
import jcuda.CudaException;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.CUuuid;
import jcuda.driver.JCudaDriver;

/**
 * Reads the devices through CUDA's driver interface, which needs no context. Use it only if {@link JCudaLibrary} is
 * ready.
 */
final class JCudaDevices {

    private static final int TEXT_BYTES = 256;

    private JCudaDevices() {}

    static CudaInventory read() {
        List<CudaDevice> devices = new ArrayList<>();
        List<String> remarks = new ArrayList<>();
        try {
            call("cuInit", () -> JCudaDriver.cuInit(0));
            int[] count = new int[1];
            call("cuDeviceGetCount", () -> JCudaDriver.cuDeviceGetCount(count));
            for (int ordinal = 0; ordinal < count[0]; ordinal++) {
                add(ordinal, devices, remarks);
            }
            if (count[0] == 0) {
                remarks.add("CUDA sees no GPU" + visible());
            }
        } catch (DeviceException e) {
            remarks.add(
                    "CUDA cannot be used: " + e.getMessage() + visible() + "; nvidia-smi reports the driver's state");
        }
        return new CudaInventory(devices, remarks);
    }

    private static void add(int ordinal, List<CudaDevice> devices, List<String> remarks) {
        try {
            devices.add(device(ordinal));
        } catch (DeviceException e) {
            remarks.add("device " + ordinal + " cannot be used: " + e.getMessage() + "; nvidia-smi reports its state");
        }
    }

    private static CudaDevice device(int ordinal) {
        CUdevice device = new CUdevice();
        call("cuDeviceGet", () -> JCudaDriver.cuDeviceGet(device, ordinal));
        byte[] name = new byte[TEXT_BYTES];
        call("cuDeviceGetName", () -> JCudaDriver.cuDeviceGetName(name, name.length, device));
        long[] memory = new long[1];
        call("cuDeviceTotalMem", () -> JCudaDriver.cuDeviceTotalMem(memory, device));
        String[] busId = new String[1];
        call("cuDeviceGetPCIBusId", () -> JCudaDriver.cuDeviceGetPCIBusId(busId, TEXT_BYTES, device));
        CUuuid uuid = new CUuuid();
        call("cuDeviceGetUuid", () -> JCudaDriver.cuDeviceGetUuid(uuid, device));
        int sm = 10 * attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
                + attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
        return new CudaDevice(ordinal, text(name), sm, memory[0], kernelsSpelling(busId[0]), text(uuid));
    }

    private static int attribute(int attribute, CUdevice device) {
        int[] value = new int[1];
        call("cuDeviceGetAttribute", () -> JCudaDriver.cuDeviceGetAttribute(value, attribute, device));
        return value[0];
    }

    private static String text(byte[] terminated) {
        String text = new String(terminated, StandardCharsets.UTF_8);
        int end = text.indexOf('\0');
        return end < 0 ? text : text.substring(0, end);
    }

    private static String text(CUuuid uuid) {
        String hex = HexFormat.of().formatHex(uuid.bytes);
        return String.join(
                "-",
                "GPU",
                hex.substring(0, 8),
                hex.substring(8, 12),
                hex.substring(12, 16),
                hex.substring(16, 20),
                hex.substring(20));
    }

    /** CUDA writes upper-case letters, the kernel lower-case ones. */
    private static String kernelsSpelling(String busId) {
        return busId.strip().toLowerCase(Locale.ROOT);
    }

    private static String visible() {
        return Optional.ofNullable(System.getenv("CUDA_VISIBLE_DEVICES"))
                .map(value -> " (CUDA_VISIBLE_DEVICES=" + value + ")")
                .orElse("");
    }

    /**
     * Calls a function of JCuda. If the application has enabled JCuda's exceptions, treats such an exception like an
     * error code.
     */
    private static void call(String name, IntSupplier function) {
        int result;
        try {
            result = function.getAsInt();
        } catch (CudaException e) {
            throw new DeviceException(name + ": " + Causes.describe(e), e);
        }
        if (result != CUresult.CUDA_SUCCESS) {
            throw new DeviceException(name + ": " + CUresult.stringFor(result));
        }
    }
}
