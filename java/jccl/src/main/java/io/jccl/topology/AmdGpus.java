package io.jccl.topology;

import java.util.regex.Pattern;

/** Refuses host descriptions with AMD GPUs. RCCL writes such files, but AMD's links differ from NVIDIA's. */
final class AmdGpus {

    private static final long AMD = 0x1002;
    private static final String LINK = "xgmi";
    private static final String ARCHITECTURE = "gcn";
    private static final Pattern ARCHITECTURE_NAME = Pattern.compile("gfx[0-9a-f]+.*");

    private AmdGpus() {}

    /** @throws TopologyException if the description contains an AMD GPU */
    static void refuse(XmlElement element) {
        for (XmlElement child : element.children()) {
            if (child.type() == ElementType.GPU && (element.hex("vendor", 0) == AMD || isAmd(child))) {
                throw new TopologyException(
                        child.where() + ": a GPU of AMD; AMD GPUs are not supported, JCCL runs on those"
                                + " of NVIDIA. Remove the gpu elements to plan for ranks that work on memory of the host");
            }
            refuse(child);
        }
    }

    private static boolean isAmd(XmlElement gpu) {
        return gpu.text(ARCHITECTURE).isPresent()
                || gpu.unknown().stream().anyMatch(child -> child.tag().equals(LINK))
                || gpu.attributes().values().stream()
                        .anyMatch(value -> ARCHITECTURE_NAME.matcher(value).matches());
    }
}
