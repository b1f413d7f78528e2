/** Collective communications for the JVM: see {@link io.jccl}. */
@SuppressWarnings("requires-automatic") // JCuda has no module descriptor
module io.jccl {
    requires org.slf4j;
    requires java.xml;
    requires static jdk.jfr;
    requires static jcuda;
    requires static transitive org.jspecify;

    exports io.jccl;
    exports io.jccl.cuda;
}
