package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.topology.Processors;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What every rank tells every other before anything is planned.
 *
 * @param hostId tells machines apart
 * @param enclosure tells apart processes of one machine that cannot hand memory to each other
 * @param process tells processes apart, on whatever machine
 * @param processors what its process may run on
 * @param numaNode the NUMA node of these processors, -1 if they are of several
 * @param device the GPU that it works on, if it has one
 * @param meetingPlace where it can be met when other ranks have failed
 * @param settings the settings that all ranks must share, by name
 */
record PeerInfo(
        String hostId,
        String enclosure,
        String process,
        Processors processors,
        int numaNode,
        Optional<DeviceEndpoint> device,
        String meetingPlace,
        Map<String, String> settings) {

    private static final int MAX_SETTINGS = 64;

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(hostId);
            out.writeUTF(enclosure);
            out.writeUTF(process);
            out.writeInt(processors.count());
            out.writeUTF(processors.allowed());
            out.writeInt(numaNode);
            out.writeBoolean(device.isPresent());
            if (device.isPresent()) {
                device.get().write(out);
            }
            out.writeUTF(meetingPlace);
            out.writeByte(settings.size());
            for (Map.Entry<String, String> setting : settings.entrySet()) {
                out.writeUTF(setting.getKey());
                out.writeUTF(setting.getValue());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** Reads what {@link #encode()} wrote on rank {@code rank}. */
    static PeerInfo decode(int rank, byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            String hostId = in.readUTF();
            String enclosure = in.readUTF();
            String process = in.readUTF();
            int cores = in.readInt();
            String allowed = in.readUTF();
            int numaNode = in.readInt();
            Optional<DeviceEndpoint> device =
                    in.readBoolean() ? Optional.of(DeviceEndpoint.read(in)) : Optional.empty();
            String meetingPlace = in.readUTF();
            int count = in.readUnsignedByte();
            if (cores < 1 || count > MAX_SETTINGS) {
                throw new BootstrapException("rank=" + rank + " cores=" + cores + " settings=" + count
                        + ": sent information that makes no sense; use the same JCCL version on all ranks");
            }
            Map<String, String> settings = new TreeMap<>();
            for (int i = 0; i < count; i++) {
                settings.put(in.readUTF(), in.readUTF());
            }
            return new PeerInfo(
                    hostId,
                    enclosure,
                    process,
                    new Processors(cores, allowed),
                    numaNode,
                    device,
                    meetingPlace,
                    settings);
        } catch (IOException e) {
            throw new BootstrapException(
                    "rank=" + rank + " bytes=" + bytes.length
                            + ": sent information that was cut; use the same JCCL version on all ranks",
                    e);
        }
    }

    /** Throws if this rank's shared settings differ from those of another. */
    void requireSameSettings(int thisRank, int otherRank, PeerInfo other) {
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            String theirs = other.settings.get(setting.getKey());
            if (!setting.getValue().equals(theirs)) {
                throw new BootstrapException(
                        setting.getKey() + "=\"" + setting.getValue() + "\" on rank=" + thisRank + " but "
                                + (theirs == null ? "unknown" : "\"" + theirs + "\"") + " on rank=" + otherRank
                                + ": this setting must be the same on all ranks");
            }
        }
    }
}
