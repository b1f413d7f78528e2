package io.jccl.cuda;

import io.jccl.DataType;
import io.jccl.DeviceException;
import io.jccl.device.CudaInventory;

/**
 * Runs in its own process, and prints what this package and the inventory report about the parts of CUDA that they
 * find.
 */
final class CudaProbe {

    private CudaProbe() {}

    public static void main(String[] args) {
        CudaInventory inventory = CudaInventory.ask();
        inventory.devices().forEach(device -> System.out.println("device " + device));
        inventory.remarks().forEach(remark -> System.out.println("remark " + remark));
        CudaSupport.missing().forEach(part -> System.out.println("missing " + part));
        try {
            System.out.println("buffer " + Cuda.buffer(null, 4, DataType.FLOAT32));
        } catch (DeviceException | IllegalArgumentException e) {
            System.out.println("buffer " + e.getClass().getSimpleName() + " " + e.getMessage());
        }
        try {
            System.out.println("stream " + Cuda.stream((jcuda.driver.CUstream) null));
        } catch (DeviceException e) {
            System.out.println("stream " + e.getClass().getSimpleName() + " " + e.getMessage());
        }
    }
}
