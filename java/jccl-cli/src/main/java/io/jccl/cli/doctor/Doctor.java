package io.jccl.cli.doctor;

import io.jccl.cli.doctor.Finding.Status;
import io.jccl.internal.Causes;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceConfigurationError;

/** Runs all checks, in the order in which a person would repair things. */
final class Doctor {

    private static final List<Check> CHECKS = List.of(
            LibraryChecks::nativeLibrary,
            LibraryChecks::settings,
            MemoryChecks::sharedMemory,
            MemoryChecks::devShm,
            MemoryChecks::available,
            MemoryChecks::hugePages,
            ProcessorChecks::cores,
            ProcessorChecks::quota,
            host -> List.of(HostLoad.check(host)),
            ProcessorChecks::governor,
            ProcessorChecks::clock,
            NetworkChecks::loopback,
            NetworkChecks::interfaces,
            NameChecks::hostName,
            NameChecks::rendezvous,
            NetworkChecks::ownAddresses,
            NetworkChecks::mtus,
            NetworkChecks::reversePathFilter,
            DeviceChecks::numa,
            DeviceChecks::networks,
            DeviceChecks::gpus,
            DeviceChecks::pciLinks,
            SystemChecks::unixSockets,
            SystemChecks::openFiles,
            SystemChecks::privileges,
            CudaChecks::parts,
            PluginChecks::plugin,
            EncryptionChecks::encryption,
            RdmaChecks::devices,
            RdmaChecks::portStates,
            RdmaChecks::gids,
            RdmaChecks::pathMtu,
            RdmaChecks::locked);

    private Doctor() {}

    /** Runs all checks. A check that throws an exception becomes a warning, and the other checks still run. */
    static List<Finding> examine(Host host) {
        List<Finding> findings = new ArrayList<>();
        for (Check check : CHECKS) {
            try {
                findings.addAll(check.examine(host));
            } catch (RuntimeException | LinkageError | ServiceConfigurationError e) {
                findings.add(Finding.warn("doctor", "a check failed: " + Causes.describe(e), "report this as a bug"));
            }
        }
        return findings;
    }

    /** Returns the worst status, or OK if there are no findings. */
    static Status worst(List<Finding> findings) {
        return findings.stream().map(Finding::status).max(Status::compareTo).orElse(Status.OK);
    }
}
