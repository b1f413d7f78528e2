package io.jccl.parts;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.planning.CommunicatorPlan;
import java.util.List;

/**
 * The GPU of this rank while it is connected to those of the other ranks.
 *
 * @param engine the engine on the GPU
 * @param plan the plan of the communicator; equal on all ranks
 * @param channels number of channels between the GPUs; equal on all ranks
 * @param processes the process of each rank, by rank
 */
public record ConnectingDevice(DeviceEngine engine, CommunicatorPlan plan, int channels, List<String> processes) {}
